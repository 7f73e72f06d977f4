#include "runtime/driver/target_list.h"

#include "support/cmocka.h"

#include <string.h>

static const struct ts_target_defaults defaults = {
    .tenant = TS_BYTES_INIT("acme"), .selection = TS_BYTES_INIT("default"), .format = "sha1"};

static void add(struct ts_target_list *list, const char *address, const char *selection) {
    struct ts_target_error error;
    assert_int_equal(ts_target_list_add(list, &defaults, ts_bytes_of_cstring(address),
                                        ts_bytes_of_cstring(selection), &error),
                     TS_TARGET_OK);
}

static void invariant_5_the_same_request_gives_the_same_targets_in_the_same_order(void **state) {
    (void)state;
    struct ts_target_list one = {0}, other = {0};
    add(&one, "https://github.com/a/b", "");
    add(&one, "ssh://git@github.com/a/c", "all");
    add(&one, "https://github.com/a/d", "refs:main,dev");
    add(&other, "HTTPS://GitHub.com:443/a/d.git", "refs:dev,main,dev");
    add(&other, "git@github.com:a/c.git", "all");
    add(&other, "https://github.com/a/b/", "default");
    add(&other, "https://github.com//a/b.git", "");
    ts_target_list_settle(&one);
    ts_target_list_settle(&other);
    assert_int_equal(one.count, 3);
    assert_int_equal(other.count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_memory_equal(&one.items[i].id, &other.items[i].id, sizeof one.items[i].id);
        assert_string_equal(one.items[i].address, other.items[i].address);
        assert_string_equal(one.items[i].selection, other.items[i].selection);
    }
    ts_target_list_release(&one);
    ts_target_list_release(&other);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invariant_5_the_same_request_gives_the_same_targets_in_the_same_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
