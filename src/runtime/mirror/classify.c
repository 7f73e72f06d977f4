#include "classify.h"

#include "base/number.h"

#include <string.h>
#include <time.h>

/* The first row whose text occurs decides, so the special rows come first. The texts are messages of git 2.31
 * to 2.50 (in the language "C"), curl and OpenSSH. */
static const struct row {
    const char *text;
    enum ts_unit_reason reason;
} rows[] = {
    {"returned error: 429", TS_UNIT_RATE_LIMITED},
    {"Too Many Requests", TS_UNIT_RATE_LIMITED},
    {"rate limit", TS_UNIT_RATE_LIMITED},
    {"returned error: 30", TS_UNIT_MOVED},
    {"unable to update url base from redirection", TS_UNIT_MOVED},
    {"Authentication failed", TS_UNIT_AUTHENTICATION_FAILED},
    {"returned error: 401", TS_UNIT_AUTHENTICATION_FAILED},
    {"CONNECT tunnel failed, response 407",
     TS_UNIT_AUTHENTICATION_FAILED}, /* the proxy asks for credentials */
    {"Received HTTP code 407 from proxy", TS_UNIT_AUTHENTICATION_FAILED},
    {"Permission denied (", TS_UNIT_AUTHENTICATION_FAILED},
    {"Too many authentication failures", TS_UNIT_AUTHENTICATION_FAILED},
    {"could not read Username", TS_UNIT_CREDENTIALS_MISSING},
    {"could not read Password", TS_UNIT_CREDENTIALS_MISSING},
    {"returned error: 403", TS_UNIT_PERMISSION_DENIED},
    {"returned error: 451", TS_UNIT_PERMISSION_DENIED}, /* a takedown */
    {"access denied", TS_UNIT_PERMISSION_DENIED},
    {"returned error: 404", TS_UNIT_NOT_FOUND},
    {"returned error: 410", TS_UNIT_NOT_FOUND},
    {"epository not found", TS_UNIT_NOT_FOUND},
    {"does not appear to be a git repository", TS_UNIT_NOT_FOUND},
    {"' not found", TS_UNIT_NOT_FOUND},
    {"not valid: is this a git repository?", TS_UNIT_NOT_FOUND}, /* the answer was a page with status 200 */
    {"Host key verification failed", TS_UNIT_UNTRUSTED_HOST},
    {"SSL certificate problem", TS_UNIT_UNTRUSTED_HOST},
    {"server certificate verification failed", TS_UNIT_UNTRUSTED_HOST},
    {"no alternative certificate subject name", TS_UNIT_UNTRUSTED_HOST},
    {"does not match target host", TS_UNIT_UNTRUSTED_HOST}, /* message of git with GnuTLS */
    {"' not allowed", TS_UNIT_UNSUPPORTED_PROTOCOL},
    {"Unsupported protocol", TS_UNIT_UNSUPPORTED_PROTOCOL},
    {"couldn't find remote ref", TS_UNIT_REFS_MOVED}, /* the ref was listed a moment ago */
    {"not our ref", TS_UNIT_SELECTION_NOT_FOUND},
    {"does not allow request for unadvertised object", TS_UNIT_UNSUPPORTED_SELECTION},
    {"mismatched algorithms", TS_UNIT_UNSUPPORTED_FORMAT},
    {"unknown object format", TS_UNIT_UNSUPPORTED_FORMAT},
    {"File too large", TS_UNIT_TOO_LARGE},
    {"exceeds maximum allowed size", TS_UNIT_TOO_LARGE},
    {"possible repository corruption on the remote side", TS_UNIT_DAMAGED_ORIGIN},
    {"Operation too slow", TS_UNIT_TIMED_OUT},
    {"returned error: 408", TS_UNIT_TIMED_OUT},
    {"timed out", TS_UNIT_TIMED_OUT},
    {"Timeout was reached", TS_UNIT_TIMED_OUT},
    {"Could not resolve", TS_UNIT_UNREACHABLE},
    {"Failed to connect", TS_UNIT_UNREACHABLE},
    {"Couldn't connect", TS_UNIT_UNREACHABLE},
    {"Connection refused", TS_UNIT_UNREACHABLE},
    {"No route to host", TS_UNIT_UNREACHABLE},
    {"Network is unreachable", TS_UNIT_UNREACHABLE},
    {"CONNECT tunnel failed", TS_UNIT_UNREACHABLE},
    {"from proxy after CONNECT", TS_UNIT_UNREACHABLE},
    {"Proxy CONNECT aborted", TS_UNIT_UNREACHABLE},
    {"gnutls_handshake() failed", TS_UNIT_UNREACHABLE}, /* a server without TLS, for example */
    {"SSL routines", TS_UNIT_UNREACHABLE},
    {"SSL_connect", TS_UNIT_UNREACHABLE},
    {"TLS connect error", TS_UNIT_UNREACHABLE},
    {"returned error: 5", TS_UNIT_UNREACHABLE},
    {"early EOF", TS_UNIT_BROKEN_OFF},
    {"unexpected disconnect", TS_UNIT_BROKEN_OFF},
    {"hung up", TS_UNIT_BROKEN_OFF},
    {"RPC failed", TS_UNIT_BROKEN_OFF},
    {"Connection reset", TS_UNIT_BROKEN_OFF},
    {"Connection closed", TS_UNIT_BROKEN_OFF},
    {"Empty reply from server", TS_UNIT_BROKEN_OFF},
    {"bad pack header", TS_UNIT_BROKEN_OFF},
    {"protocol error", TS_UNIT_BROKEN_OFF},
    {"did not send all necessary objects", TS_UNIT_DAMAGED_ORIGIN},
};

/* Faults of this machine, which are searched for first. Lack of memory is not among them, because a server
 * can send an object for which git needs too much memory. */
static const struct own_row {
    const char *text;
    enum ts_fleet_worker_fault_kind kind;
} own_rows[] = {
    {"No space left on device", TS_FLEET_WORKER_FAULT_DISK_FULL},
    {"Out of diskspace", TS_FLEET_WORKER_FAULT_DISK_FULL}, /* while index-pack writes the index */
    {"Disk quota exceeded", TS_FLEET_WORKER_FAULT_DISK_FULL},
    {"Read-only file system", TS_FLEET_WORKER_FAULT_MIRROR_FOLDER},
    {"Too many open files", TS_FLEET_WORKER_FAULT_NO_DESCRIPTORS},
    {"cannot fork", TS_FLEET_WORKER_FAULT_NO_PROCESS},
    {"unable to fork", TS_FLEET_WORKER_FAULT_NO_PROCESS},
    {"is not a git command", TS_FLEET_WORKER_FAULT_NO_GIT},
    {"unable to find remote helper", TS_FLEET_WORKER_FAULT_NO_GIT},
    {"cannot run ssh", TS_FLEET_WORKER_FAULT_NO_GIT},
};

/* Messages about this mirror, and about the memory of git. They are searched for after own_rows and before
 * the general rows, because after such a fault git also reports that the transfer has ended. */
static const struct row local_rows[] = {
    {"ut of memory", TS_UNIT_NEEDS_MEMORY},
    {") is corrupt", TS_UNIT_MIRROR_DAMAGED}, /* packed object … (stored in …) */
    {"cannot read existing object", TS_UNIT_MIRROR_DAMAGED},
    {"COLLISION FOUND",
     TS_UNIT_MIRROR_DAMAGED}, /* the received object is intact, but the stored object is not */
    {"unresolved delta", TS_UNIT_MIRROR_DAMAGED},
};

static bool has(struct ts_bytes text, const char *what) {
    return memmem(text.data, text.len, what, strlen(what)) != NULL;
}

/* Takes the next line from `rest`. Lines that report progress end with \r. */
static struct ts_bytes next_line(struct ts_bytes *rest) {
    size_t len = 0;
    while (len < rest->len && rest->data[len] != '\n' && rest->data[len] != '\r')
        len++;
    const struct ts_bytes line = ts_bytes_first(*rest, len);
    *rest = ts_bytes_skip(*rest, len < rest->len ? len + 1 : len);
    return line;
}

static bool is_header(struct ts_bytes line) {
    return has(line, " http.c:");
}

/* Returns whether a server wrote the line: a line that begins with "remote: ", or a header. The callers stop at
 * "remote error:", because the server's text after it may have several lines. */
static bool is_of_server(struct ts_bytes line) {
    return ts_bytes_starts_with(line, TS_BYTES("remote: ")) || is_header(line);
}

static const struct row *find_local_row(struct ts_bytes text) {
    while (text.len > 0) {
        const struct ts_bytes line = next_line(&text);
        if (has(line, "remote error:"))
            return NULL;
        for (size_t i = 0; i < sizeof local_rows / sizeof local_rows[0]; i++)
            if (!is_of_server(line) && has(line, local_rows[i].text))
                return &local_rows[i];
    }
    return NULL;
}

static bool is_own(struct ts_bytes text, enum ts_fleet_worker_fault_kind *ret_kind) {
    while (text.len > 0) {
        const struct ts_bytes line = next_line(&text);
        if (has(line, "remote error:"))
            return false;
        for (size_t i = 0; i < sizeof own_rows / sizeof own_rows[0]; i++)
            if (!is_of_server(line) && has(line, own_rows[i].text)) {
                *ret_kind = own_rows[i].kind;
                return true;
            }
    }
    return false;
}

/* Returns the first row of the table whose text occurs. Ignores headers, because a text in a header is not the
 * cause of git's failure. */
static const struct row *find_row(struct ts_bytes text) {
    const struct row *found = NULL;
    while (text.len > 0) {
        const struct ts_bytes line = next_line(&text);
        const size_t count = found == NULL ? sizeof rows / sizeof rows[0] : (size_t)(found - rows);
        for (size_t i = 0; i < count; i++)
            if (!is_header(line) && has(line, rows[i].text)) {
                found = &rows[i];
                break;
            }
    }
    return found;
}

/* Returns the value of the last header with this name that a server sent; `name` is in lower case. */
static struct ts_bytes header(struct ts_bytes text, const char *name) {
    static const char received[] = "<= Recv header: ";
    const size_t name_len = strlen(name);
    struct ts_bytes value = {.len = 0};
    while (text.len > 0) {
        const struct ts_bytes line = next_line(&text);
        const uint8_t *at = is_header(line) ? memmem(line.data, line.len, received, strlen(received)) : NULL;
        if (at == NULL)
            continue;
        const struct ts_bytes rest = ts_bytes_skip(line, (size_t)(at - line.data) + strlen(received));
        if (rest.len > name_len && strncasecmp((const char *)rest.data, name, name_len) == 0)
            value = ts_bytes_skip(rest, name_len);
    }
    while (value.len > 0 && value.data[0] == ' ')
        value = ts_bytes_skip(value, 1);
    while (value.len > 0 && value.data[value.len - 1] == ' ')
        value.len--;
    return value;
}

#define DAY_S           UINT64_C(86400)
#define PAUSE_DEFAULT_S UINT64_C(60)

/* Converts a date in a header to seconds since 1970: "Wed, 21 Oct 2026 07:28:00 GMT". */
static bool read_date(struct ts_bytes value, time_t *ret_s) {
    char text[40] = "";
    struct tm day = {0};
    if (value.len == 0 || value.len >= sizeof text)
        return false;
    memcpy(text, value.data, value.len);
    const char *end = strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &day);
    *ret_s = end != NULL && *end == '\0' ? timegm(&day) : -1;
    return *ret_s >= 0;
}

/* Reads the pause that the host asks for, at most one day. Returns false if the host names no pause. A date
 * counts from the date of the response, because the clocks may differ. */
static bool read_pause(struct ts_bytes text, uint64_t *ret_s) {
    const struct ts_bytes value = header(text, "retry-after:");
    time_t until_s, now_s;
    if (read_date(value, &until_s))
        *ret_s = read_date(header(text, "date:"), &now_s) && until_s >= now_s ? (uint64_t)(until_s - now_s)
                                                                              : PAUSE_DEFAULT_S;
    else if (ts_u64_parse(value, ret_s) != TS_NUMBER_OK)
        return false;
    *ret_s = *ret_s < DAY_S ? *ret_s : DAY_S;
    return true;
}

bool mirror__is_answer_of_git(struct ts_bytes text) {
    return ts_bytes_starts_with(header(text, "content-type:"), TS_BYTES("application/x-git-upload-pack-"));
}

/* Whether hosts also use this response to limit requests, with a header that says when to try again. */
static bool may_ask_for_pause(const struct row *row) {
    return strcmp(row->text, "returned error: 403") == 0 || strcmp(row->text, "returned error: 5") == 0;
}

struct mirror__verdict mirror__classify(struct ts_bytes text, bool may_be_own) {
    enum ts_fleet_worker_fault_kind kind;
    if (may_be_own && is_own(text, &kind))
        return (struct mirror__verdict){.failure = mirror__own_fault(kind)};
    const struct row *local = find_local_row(text);
    if (local != NULL)
        return (struct mirror__verdict){.failure = mirror__failure_of(local->reason)};
    const struct row *row = find_row(text);
    struct mirror__verdict verdict = {
        .failure = mirror__failure_of(row != NULL ? row->reason : TS_UNIT_UNCLASSIFIED)};
    verdict.is_name = row != NULL && strcmp(row->text, "Could not resolve") == 0;
    uint64_t pause_s = PAUSE_DEFAULT_S;
    const bool has_pause = read_pause(text, &pause_s);
    if (has_pause && row != NULL && may_ask_for_pause(row))
        verdict.failure = mirror__failure_of(TS_UNIT_RATE_LIMITED);
    if (verdict.failure.error.reason == TS_UNIT_RATE_LIMITED)
        verdict.failure.error.retry_after_ms = pause_s * 1000;
    return verdict;
}
