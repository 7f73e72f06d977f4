#include "runtime/core/target.h"

#include "base/hex.h"

#include "support/cmocka.h"

static struct ts_target_id id_of(const char *tenant, const char *address, const char *selection,
                                 const char *format) {
    const struct ts_target_parts parts = {ts_bytes_of_cstring(tenant), ts_bytes_of_cstring(address),
                                          ts_bytes_of_cstring(selection), ts_bytes_of_cstring(format)};
    return ts_target_id_of(&parts);
}

/* The expected ids are those of b3sum over the same bytes. Stores have records under such ids, so they must
 * never change. */
static void the_id_of_a_target_never_changes(void **state) {
    (void)state;
    struct ts_target_id id = id_of("acme", "https://github.com/a/b", "default", "sha1");
    char text[2 * TS_TARGET_ID_LEN + 1] = "";
    (void)ts_hex_encode(ts_bytes_of(id.bytes, sizeof id.bytes), text);
    assert_string_equal(text, "23ca2c433f9b8e418b7cfc662e8c940f");
}

static void every_part_counts_and_none_runs_into_the_next(void **state) {
    (void)state;
    const struct ts_target_id ids[] = {
        id_of("acme", "https://h/a", "default", "sha1"), id_of("acm", "ehttps://h/a", "default", "sha1"),
        id_of("acme", "https://h/adefault", "", "sha1"), id_of("acme", "https://h/a", "default", "sha256"),
        id_of("acme", "https://h/a", "all", "sha1"),     id_of("other", "https://h/a", "default", "sha1"),
        id_of("acme", "https://h/a", "defaultsha1", ""),
    };
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++)
        for (size_t j = 0; j < i; j++)
            assert_memory_not_equal(&ids[i], &ids[j], sizeof ids[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_id_of_a_target_never_changes),
        cmocka_unit_test(every_part_counts_and_none_runs_into_the_next),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
