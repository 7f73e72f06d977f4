#include "runtime/mirror/access.h"

#include "support/cmocka.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[] = "/tmp/turnstone-access-XXXXXX";

static void write_text(const char *text) {
    const int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void assert_refused(const char *text, const char *why) {
    struct ts_mirror_access access = {.count = 77};
    struct ts_private_error error;
    write_text(text);
    assert_false(ts_mirror_access_load(path, &access, &error));
    assert_non_null(strstr(error.text, why));
    assert_null(strstr(error.text, "hidden"));
    assert_int_equal(access.count, 77);
}

static void hosts_have_what_the_file_says(void **state) {
    (void)state;
    struct ts_mirror_access access;
    struct ts_private_error error;
    write_text(
        "# a comment\n\n[a.example]\nuser = me\r\n  password=p = q \n[a.example:8443]\nca = /ca.pem\n[b]\nssh-key=/k\n"
        "known-hosts = /h\nproxy = http://p:1\n[[::1]:80]\npassword-file = /f");
    assert_true(ts_mirror_access_load(path, &access, &error));
    const struct ts_mirror_host *host = ts_mirror_access_find(&access, TS_BYTES("a.example"));
    assert_string_equal(host->user, "me");
    assert_string_equal(host->password, "p = q");
    assert_null(host->ca);
    assert_string_equal(ts_mirror_access_find(&access, TS_BYTES("a.example:8443"))->ca, "/ca.pem");
    assert_ptr_equal(ts_mirror_access_find(&access, TS_BYTES("a.example:1")), host);
    assert_string_equal(ts_mirror_access_find(&access, TS_BYTES("b:22"))->ssh_key, "/k");
    assert_string_equal(ts_mirror_access_find(&access, TS_BYTES("[::1]:80"))->password_file, "/f");
    assert_null(ts_mirror_access_find(&access, TS_BYTES("[::1]")));
    assert_null(ts_mirror_access_find(&access, TS_BYTES("c")));
    assert_null(ts_mirror_access_find(&access, TS_BYTES("sub.a.example")));
    ts_mirror_access_release(&access);
}

static void a_mistake_is_named_by_its_line_and_never_shows_a_value(void **state) {
    (void)state;
    assert_refused("user = hidden\n", "line 1: a host in brackets must come first");
    assert_refused("[a]\npasword = hidden\n", "line 2: unknown key");
    assert_refused("[a]\nhidden\n", "line 2: a setting is written as KEY = VALUE");
    assert_refused("[a]\nuser = b\nuser = hidden\n",
                   "line 3: the key occurs twice for this host; remove one of them");
    assert_refused("[a]\nuser = b\n[a]\n",
                   "line 3: the host occurs twice; write all its settings below one [host]");
    assert_refused("[a\n", "line 1: a host is written as");
    assert_refused("[a]\npassword =\n", "line 2: the value is empty");
    assert_refused("[a]\npassword = hid\tden\n", "line 2: the value has a control character");
}

static void a_file_that_others_can_read_is_refused(void **state) {
    (void)state;
    write_text("[a]\n");
    struct ts_mirror_access access;
    struct ts_private_error error;
    assert_int_equal(chmod(path, 0640), 0);
    assert_false(ts_mirror_access_load(path, &access, &error));
    assert_non_null(strstr(error.text, "chmod 600"));
    assert_int_equal(chmod(path, 0600), 0);
    assert_false(ts_mirror_access_load("/dev/null", &access, &error));
    assert_false(ts_mirror_access_load("/nowhere", &access, &error));
    assert_non_null(strstr(error.text, "No such file"));
}

static int make_file(void **state) {
    (void)state;
    const int fd = mkstemp(path);
    close(fd);
    return fd < 0;
}

static int remove_file(void **state) {
    (void)state;
    return unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_have_what_the_file_says),
        cmocka_unit_test(a_mistake_is_named_by_its_line_and_never_shows_a_value),
        cmocka_unit_test(a_file_that_others_can_read_is_refused),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
