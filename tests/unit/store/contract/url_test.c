#include "store/contract/url.h"

#include "base/bytes.h"
#include "support/cmocka.h"

#include <string.h>

static struct store_url parsed(const char *text) {
    struct store_url url = {0};
    struct ts_store_error error;
    if (store__url_parse(ts_bytes_of_cstring(text), &url, &error) != TS_STORE_OK)
        fail_msg("%s", error.text);
    assert_string_equal(url.text, text);
    return url;
}

static void local_stores_have_a_path(void **state) {
    (void)state;
    struct store_url url = parsed("memory:");
    assert_int_equal(url.kind, STORE_URL_MEMORY);
    assert_string_equal(url.path, "");
    store__url_release(&url);
    url = parsed("memory:one");
    assert_string_equal(url.path, "one");
    assert_string_equal(url.name, "memory:one");
    store__url_release(&url);
    url = parsed("rocksdb:/var/lib/a%2Cb%20c//");
    assert_int_equal(url.kind, STORE_URL_ROCKSDB);
    assert_string_equal(url.path, "/var/lib/a,b c");
    assert_string_equal(url.name, "rocksdb:/var/lib/a,b c");
    store__url_release(&url);
    url = parsed("rocksdb:/");
    assert_string_equal(url.path, "/");
    store__url_release(&url);
}

static void a_database_has_its_parts(void **state) {
    (void)state;
    struct store_url url =
        parsed("postgresql://me:p%40ss%2Fword@db.example:5433/base?sslmode=require&options=-c%20a%3Db");
    assert_int_equal(url.kind, STORE_URL_POSTGRES);
    assert_string_equal(url.user, "me");
    assert_string_equal(url.password, "p@ss/word");
    assert_string_equal(url.host, "db.example");
    assert_string_equal(url.port, "5433");
    assert_string_equal(url.database, "base");
    assert_int_equal(url.option_count, 2);
    assert_string_equal(url.options[1].name, "options");
    assert_string_equal(url.options[1].value, "-c a=b");
    assert_string_equal(url.name, "postgresql://me@db.example:5433/base");
    store__url_release(&url);
}

static void parts_may_be_left_out(void **state) {
    (void)state;
    struct store_url url = parsed("postgres://h");
    assert_string_equal(url.host, "h");
    assert_string_equal(url.user, "");
    assert_string_equal(url.password, "");
    assert_string_equal(url.port, "");
    assert_string_equal(url.database, "");
    store__url_release(&url);
    url = parsed("postgresql:///b?host=/run/postgresql&user=me&password=secret");
    assert_string_equal(url.host, "/run/postgresql");
    assert_string_equal(url.user, "me");
    assert_string_equal(url.password, "secret");
    assert_null(strstr(url.name, "secret"));
    store__url_release(&url);
    url = parsed("postgresql://%2Frun%2Fpg/b");
    assert_string_equal(url.host, "/run/pg");
    store__url_release(&url);
    url = parsed("postgresql://u@[::1]:99/b");
    assert_string_equal(url.host, "::1");
    assert_string_equal(url.port, "99");
    assert_string_equal(url.name, "postgresql://u@[::1]:99/b");
    store__url_release(&url);
}

static void several_hosts_are_one_store(void **state) {
    (void)state;
    struct store_url url =
        parsed("postgresql://me:p%2C@db1:5433,[::1],db3:5435/base?target_session_attrs=primary");
    assert_int_equal(url.host_count, 3);
    assert_string_equal(url.host, "db1,::1,db3");
    assert_string_equal(url.port, "5433,,5435");
    assert_string_equal(url.password, "p,");
    assert_string_equal(url.name, "postgresql://me@db1:5433,[::1],db3:5435/base");
    store__url_release(&url);
    url = parsed("postgresql://a,b/base?port=5433");
    assert_string_equal(url.host, "a,b");
    assert_string_equal(url.name, "postgresql://a:5433,b:5433/base");
    store__url_release(&url);
    url = parsed("postgresql:///base?host=a%2Cb");
    assert_int_equal(url.host_count, 2);
    store__url_release(&url);
    struct store_url_list list = {0};
    struct ts_store_error error;
    assert_int_equal(
        store__url_list_parse("postgresql://u:secret@h1:1,h2:2/d,memory:,postgresql://h3,h4,rocksdb:/x",
                              &list, &error),
        TS_STORE_OK);
    assert_int_equal(list.count, 4);
    assert_string_equal(list.urls[0].host, "h1,h2");
    assert_string_equal(list.urls[2].host, "h3,h4");
    store__url_list_release(&list);
}

static void refused(const char *text, const char *part) {
    struct store_url url = {0};
    struct ts_store_error error = {0};
    assert_int_equal(store__url_parse(ts_bytes_of_cstring(text), &url, &error), TS_STORE_BAD_USAGE);
    assert_null(url.text);
    if (strstr(error.text, part) == NULL)
        fail_msg("%s: no \"%s\" in: %s", text, part, error.text);
    if (strstr(error.text, "secret") != NULL)
        fail_msg("%s: a password in: %s", text, error.text);
}

static void an_invalid_url_is_refused_with_the_fix(void **state) {
    (void)state;
    refused("", "a store is memory:");
    refused("mysql://u:secret@h/d", "a store is memory:");
    refused("h2/db", "except between hosts");
    refused("rocksdb:", "rocksdb:DIRECTORY");
    refused("rocksdb:a%zz", "%25");
    refused("rocksdb:a%2", "%25");
    refused("rocksdb:a%00b", "%25");
    refused("postgresql://u:secret@/d", "the host is missing");
    refused("postgresql://u:secret@h:0/d", "from 1 to 65535");
    refused("postgresql://u:secret@h:65536/d", "from 1 to 65535");
    refused("postgresql://u:secret@h:x/d", "from 1 to 65535");
    refused("postgresql://u:secret@[::1/d", "]");
    refused("postgresql://u:secret@[::1]5/d", ":PORT");
    refused("postgresql://u:secret%@h/d", "%25");
    refused("postgresql://h/d?password=secret&sslmode", "NAME=VALUE");
    refused("postgresql://h/d?host=other&password=secret", "give it once");
    refused("postgresql://h/d?password=secret&a=1&a=2", "twice");
    refused("postgresql://h/d?password=secret&service=x", "several hosts");
    refused("postgresql://a,,b/d?password=secret", "a host is missing");
    refused("postgresql://a:1,b:2,c:x/d?password=secret", "from 1 to 65535");
    refused("postgresql://a,b,c/d?password=secret&port=1,2", "one for each host");
    refused("postgresql://a,b/d?password=secret&hostaddr=127.0.0.1", "hostaddr");
    refused("postgresql://a/d?password=secret&hostaddr=127.0.0.1,127.0.0.2", "hostaddr");
    refused("postgresql://a,b/d?password=secret&target_session_attrs=any", "the primary is used");
    refused("postgresql://a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q/d?password=secret", "at most 16 hosts");
    refused("postgresql://h?dbname=postgresql://v:secret@h2/d", "contains :// or =");
    refused("postgresql://h/password=secret", "contains :// or =");
    refused("postgresql:///d?host=postgresql://v:secret@h2", "parts of one URL");
}

/* In a URL that cannot be parsed, any of these parts may be a password. */
static void no_password_is_shown(void **state) {
    (void)state;
    refused("host=h user=u password=secret", "\"host...\"");
    refused("postgresql://u@h/d?password=se@secret&bad", "\"postgresql://");
    refused("postgresql://u:a@secret?b@h/d", "\"postgresql://");
    refused("postgresql://u:x?secret@h/d", "\"postgresql://...\"");
    refused("postgresql:u:secret", "\"postgresql...\"");
    refused("postgresql//u:secret/d", "\"postgresql//u...\"");
    refused("u secret", "\"u...\"");
    refused("postgresql://u@h:x/d?a=b", "\"postgresql://...@h:x/d...\"");
}

static void lists_keep_their_order(void **state) {
    (void)state;
    struct store_url_list list = {0};
    struct ts_store_error error;
    assert_int_equal(store__url_list_parse("memory:b,rocksdb:/x,postgresql://h/d", &list, &error),
                     TS_STORE_OK);
    assert_int_equal(list.count, 3);
    assert_string_equal(list.urls[0].path, "b");
    assert_string_equal(list.urls[2].host, "h");
    store__url_list_release(&list);
}

static void list_refused(const char *text, const char *part) {
    struct store_url_list list = {0};
    struct ts_store_error error;
    assert_int_equal(store__url_list_parse(text, &list, &error), TS_STORE_BAD_USAGE);
    assert_null(list.urls);
    if (strstr(error.text, part) == NULL || strstr(error.text, "secret") != NULL)
        fail_msg("%s: %s", text, error.text);
}

static void lists_have_each_store_once(void **state) {
    (void)state;
    list_refused("memory:,memory:", "twice");
    list_refused("rocksdb:/a,memory:,rocksdb:/a/", "store 0 and store 2");
    list_refused("postgresql://u:secret@h/d,postgres://v:secret2@H:5432/d", "twice");
    list_refused("memory:,", "it is empty");
    list_refused("", "it is empty");
    list_refused("postgresql://u:secret@h1/d,h2/d", "except between hosts");
    list_refused("postgresql://u:secret@h1,h2/d,postgresql://h1,h2/d", "twice");
    list_refused("postgresql://h/d?password=se,secret", "store 1 of the list");
    list_refused("rocksdb:x,u:secret", "store 1 of the list");
    struct store_url_list list = {0};
    struct ts_store_error error;
    assert_int_equal(
        store__url_list_parse("postgresql://h/d,postgresql://h/e,postgresql://h:1/d", &list, &error),
        TS_STORE_OK);
    store__url_list_release(&list);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(local_stores_have_a_path),
        cmocka_unit_test(a_database_has_its_parts),
        cmocka_unit_test(parts_may_be_left_out),
        cmocka_unit_test(several_hosts_are_one_store),
        cmocka_unit_test(an_invalid_url_is_refused_with_the_fix),
        cmocka_unit_test(no_password_is_shown),
        cmocka_unit_test(lists_keep_their_order),
        cmocka_unit_test(lists_have_each_store_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
