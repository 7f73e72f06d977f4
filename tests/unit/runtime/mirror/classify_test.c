#include "classify.h"

#include "support/cmocka.h"

static struct mirror__verdict classify(const char *text) {
    return mirror__classify(ts_bytes_of_cstring(text), true);
}

static void assert_reason(const char *text, enum ts_unit_reason reason) {
    const struct mirror__verdict verdict = classify(text);
    assert_false(verdict.failure.is_own);
    assert_string_equal(ts_unit_reason_label(verdict.failure.error.reason), ts_unit_reason_label(reason));
}

static void assert_fault(const char *text, enum ts_fleet_worker_fault_kind kind) {
    const struct mirror__verdict verdict = classify(text);
    assert_true(verdict.failure.is_own);
    assert_int_equal(verdict.failure.fault.kind, kind);
}

static void messages_of_git_curl_and_ssh_have_reasons(void **state) {
    (void)state;
    assert_reason("fatal: unable to access 'https://h/r/': The requested URL returned error: 503\n",
                  TS_UNIT_UNREACHABLE);
    assert_reason("fatal: unable to access 'https://h/r/': The requested URL returned error: 302\n",
                  TS_UNIT_MOVED);
    assert_reason("remote: Not Found\nfatal: repository 'https://h/r/' not found\n", TS_UNIT_NOT_FOUND);
    assert_reason("fatal: Authentication failed for 'https://h/r/'\n", TS_UNIT_AUTHENTICATION_FAILED);
    assert_reason("fatal: could not read Username for 'https://h': terminal prompts disabled\n",
                  TS_UNIT_CREDENTIALS_MISSING);
    assert_reason("git@h: Permission denied (publickey).\nfatal: Could not read from remote repository.\n",
                  TS_UNIT_AUTHENTICATION_FAILED);
    assert_reason("Host key verification failed.\nfatal: Could not read from remote repository.\n",
                  TS_UNIT_UNTRUSTED_HOST);
    assert_reason("fatal: unable to access 'https://h/r/': SSL certificate problem: self-signed\n",
                  TS_UNIT_UNTRUSTED_HOST);
    assert_reason(
        "fatal: unable to access 'https://h/r/': SSL: certificate subject name (other) does not match "
        "target host name 'h'\n",
        TS_UNIT_UNTRUSTED_HOST);
    assert_reason(
        "fatal: unable to access 'https://h/r/': gnutls_handshake() failed: An unexpected TLS packet "
        "was received.\n",
        TS_UNIT_UNREACHABLE);
    assert_reason("fatal: unable to access 'https://h/r/': CONNECT tunnel failed, response 407\n",
                  TS_UNIT_AUTHENTICATION_FAILED);
    assert_reason("fatal: unable to access 'https://h/r/': CONNECT tunnel failed, response 403\n",
                  TS_UNIT_UNREACHABLE);
    assert_reason("fatal: unable to access 'https://h/r/': Received HTTP code 407 from proxy after CONNECT\n",
                  TS_UNIT_AUTHENTICATION_FAILED);
    assert_reason("fatal: unable to access 'https://h/r/': Proxy CONNECT aborted\n", TS_UNIT_UNREACHABLE);
    assert_reason("fatal: https://h/r/info/refs not valid: is this a git repository?\n", TS_UNIT_NOT_FOUND);
    assert_reason("fatal: unable to access 'https://h/r/': The requested URL returned error: 451\n",
                  TS_UNIT_PERMISSION_DENIED);
    assert_reason("fatal: unable to access 'https://h/r/': The requested URL returned error: 408\n",
                  TS_UNIT_TIMED_OUT);
    assert_reason("fatal: remote error: upload-pack: not our ref 1234\n", TS_UNIT_SELECTION_NOT_FOUND);
    assert_reason("error: Server does not allow request for unadvertised object 1234\n",
                  TS_UNIT_UNSUPPORTED_SELECTION);
    assert_reason("fatal: write error: File too large\nfatal: fetch-pack: invalid index-pack output\n",
                  TS_UNIT_TOO_LARGE);
    assert_reason("error: RPC failed; curl 28 Operation too slow.\nfatal: early EOF\n", TS_UNIT_TIMED_OUT);
    assert_reason("fatal: early EOF\nfatal: fetch-pack: invalid index-pack output\n", TS_UNIT_BROKEN_OFF);
    assert_reason("remote: fatal: Out of memory, malloc failed\nfatal: early EOF\n", TS_UNIT_BROKEN_OFF);
    assert_reason("something that nobody knows\n", TS_UNIT_UNCLASSIFIED);
    assert_reason("", TS_UNIT_UNCLASSIFIED);
}

static void a_damaged_mirror_is_not_a_broken_transfer(void **state) {
    (void)state;
    static const char *const said[] = {
        "error: inflate: data stream error (incorrect data check)\nfatal: packed object 62c2 (stored in "
        "./objects/pack/pack-643a.pack) is corrupt\nfatal: fetch-pack: invalid index-pack output\n",
        "fatal: packed object 62c2 (stored in ./objects/pack/pack-643a.pack) is corrupt\n"
        "error: RPC failed; curl 23 Failed writing received data\nfatal: early EOF\n",
        "fatal: cannot read existing object info e09d\nfatal: fetch-pack: invalid index-pack output\n",
        "fatal: SHA1 COLLISION FOUND WITH e09d !\nfatal: fetch-pack: invalid index-pack output\n",
        "fatal: pack has 1 unresolved delta\nfatal: fetch-pack: invalid index-pack output\n",
    };
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++)
        assert_reason(said[i], TS_UNIT_MIRROR_DAMAGED);
    /* A damaged origin is no reason to clone the mirror again, although git reports a damaged mirror with the
     * same messages. */
    assert_reason("remote: fatal: packed object 62c2 (stored in ./a.pack) is corrupt\n"
                  "remote: aborting due to possible repository corruption on the remote side.\n",
                  TS_UNIT_DAMAGED_ORIGIN);
    assert_reason("fatal: remote error: well\nfatal: pack has 1 unresolved delta\nfatal: early EOF\n",
                  TS_UNIT_BROKEN_OFF);
    /* If this is the only message, a fetch into a mirror treats the mirror as damaged (sync.c). */
    assert_reason("fatal: fetch-pack: invalid index-pack output\n", TS_UNIT_UNCLASSIFIED);
}

static void faults_of_this_machine_come_first(void **state) {
    (void)state;
    assert_fault(
        "fatal: write error: No space left on device\nfatal: fetch-pack: invalid index-pack output\n",
        TS_FLEET_WORKER_FAULT_DISK_FULL);
    assert_fault("fatal: sha1 file 'objects/pack/tmp_idx_EXshkk' write error. Out of diskspace\n"
                 "fatal: fetch-pack: invalid index-pack output\n",
                 TS_FLEET_WORKER_FAULT_DISK_FULL);
    assert_fault("error: cannot fork to run ssh\nfatal: unable to fork\n", TS_FLEET_WORKER_FAULT_NO_PROCESS);
    assert_fault("fatal: unable to find remote helper for 'https'\n", TS_FLEET_WORKER_FAULT_NO_GIT);
}

static void a_server_cannot_make_this_machine_look_faulty(void **state) {
    (void)state;
    assert_reason("remote: No space left on device\nfatal: early EOF\n", TS_UNIT_BROKEN_OFF);
    assert_reason("01:02:03.000000 http.c:700 <= Recv header: X: No space left on device\nfatal: early EOF\n",
                  TS_UNIT_BROKEN_OFF);
    assert_reason("fatal: remote error: well\nfatal: No space left on device\n", TS_UNIT_UNCLASSIFIED);
    /* The size of an object, for which git needs memory, is the server's choice. */
    assert_reason("fatal: Out of memory, malloc failed\n", TS_UNIT_NEEDS_MEMORY);
}

static void a_fault_that_is_not_believed_does_not_hide_the_reason(void **state) {
    (void)state;
    const struct mirror__verdict verdict = mirror__classify(
        TS_BYTES("No space left on device\nfatal: '/r' does not appear to be a git repository\n"), false);
    assert_false(verdict.failure.is_own);
    assert_int_equal(verdict.failure.error.reason, TS_UNIT_NOT_FOUND);
}

static void headers_are_no_messages(void **state) {
    (void)state;
    assert_reason("01:02:03.000000 http.c:700 <= Recv header: X: Authentication failed\nfatal: early EOF\n",
                  TS_UNIT_BROKEN_OFF);
}

#define DATE "date: Wed, 21 Oct 2026 07:27:00 GMT"

/* Classifies git's output about a response with this status and these two headers. */
static struct mirror__verdict answered(const char *status, const char *one, const char *other) {
    char text[600];
    (void)snprintf(text, sizeof text,
                   "01:02:03.000000 http.c:700              <= Recv header: %s\r\n"
                   "01:02:03.000000 http.c:700              <= Recv header: %s\r\n"
                   "fatal: unable to access 'https://h/r/': The requested URL returned error: %s\n",
                   one, other, status);
    return classify(text);
}

static uint64_t retry_after(const char *value) {
    const struct mirror__verdict verdict = answered("429", DATE, value);
    assert_int_equal(verdict.failure.error.reason, TS_UNIT_RATE_LIMITED);
    return verdict.failure.error.retry_after_ms;
}

static void a_rate_limit_says_when_to_come_again(void **state) {
    (void)state;
    assert_int_equal(retry_after("Retry-After: 7"), 7000);
    assert_int_equal(retry_after("retry-after:7 "), 7000);
    assert_int_equal(retry_after("Retry-After: 86400"), 86400000);
    assert_int_equal(retry_after("Retry-After: 86401"), 86400000);
    assert_int_equal(retry_after("Retry-After: Wed, 21 Oct 2026 07:28:05 GMT"), 65000);
    assert_int_equal(retry_after("Retry-After: Fri, 23 Oct 2026 07:28:05 GMT"), 86400000);
    /* Without a valid Retry-After the wait is a minute. Without a wait, the host would get one request for
     * each of its repositories at once. */
    assert_int_equal(retry_after("Other: 7"), 60000);
    assert_int_equal(retry_after("Retry-After: -1"), 60000);
    assert_int_equal(retry_after("Retry-After: Wed, 21 Oct 2026 07:28:00 CET"), 60000);
    assert_int_equal(retry_after("Retry-After: Wed, 21 Oct 2026 07:26:00 GMT"), 60000);
    assert_int_equal(answered("429", "Other: x", "Retry-After: Wed, 21 Oct 2026 07:28:05 GMT")
                         .failure.error.retry_after_ms,
                     60000);
}

static void a_host_that_says_when_to_come_again_denies_nothing(void **state) {
    (void)state;
    static const struct {
        const char *status, *header;
        enum ts_unit_reason reason;
        uint64_t retry_after_ms;
    } cases[] = {{"403", "Retry-After: 30", TS_UNIT_RATE_LIMITED, 30000},
                 {"503", "Retry-After: 30", TS_UNIT_RATE_LIMITED, 30000},
                 {"403", "Other: 30", TS_UNIT_PERMISSION_DENIED, 0},
                 {"503", "Other: 30", TS_UNIT_UNREACHABLE, 0},
                 {"404", "Retry-After: 30", TS_UNIT_NOT_FOUND, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ts_unit_error error = answered(cases[i].status, DATE, cases[i].header).failure.error;
        assert_int_equal(error.reason, cases[i].reason);
        assert_int_equal(error.retry_after_ms, cases[i].retry_after_ms);
    }
}

static void only_git_on_a_server_answers_with_its_type(void **state) {
    (void)state;
#define HEADER "01:02:03.000000 http.c:700              <= Recv header: "
    assert_true(
        mirror__is_answer_of_git(TS_BYTES(HEADER "Content-Type: text/html\r\n" HEADER
                                                 "content-type: application/x-git-upload-pack-result\r\n")));
    assert_false(mirror__is_answer_of_git(
        TS_BYTES(HEADER "Content-Type: application/x-git-upload-pack-advertisement\r\n" HEADER
                        "Content-Type: text/html\r\n")));
    assert_false(mirror__is_answer_of_git(TS_BYTES(HEADER "Server: x\r\n")));
    assert_false(mirror__is_answer_of_git(TS_BYTES("")));
#undef HEADER
}

static void only_an_unknown_name_asks_the_resolver(void **state) {
    (void)state;
    assert_true(classify("fatal: unable to access 'https://h/r/': Could not resolve host: h\n").is_name);
    assert_true(classify("ssh: Could not resolve hostname h: Name or service not known\n").is_name);
    assert_false(
        classify("fatal: unable to access 'https://h/r/': Failed to connect to h port 443\n").is_name);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_of_git_curl_and_ssh_have_reasons),
        cmocka_unit_test(a_damaged_mirror_is_not_a_broken_transfer),
        cmocka_unit_test(faults_of_this_machine_come_first),
        cmocka_unit_test(a_server_cannot_make_this_machine_look_faulty),
        cmocka_unit_test(a_fault_that_is_not_believed_does_not_hide_the_reason),
        cmocka_unit_test(headers_are_no_messages),
        cmocka_unit_test(a_rate_limit_says_when_to_come_again),
        cmocka_unit_test(a_host_that_says_when_to_come_again_denies_nothing),
        cmocka_unit_test(only_git_on_a_server_answers_with_its_type),
        cmocka_unit_test(only_an_unknown_name_asks_the_resolver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
