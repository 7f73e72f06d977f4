#include "runtime/core/tenant_key.h"

#include "base/hex.h"

#include "support/cmocka.h"

static struct ts_fleet_tenant_key key_of(uint8_t first, const char *tenant) {
    uint8_t secret[TS_FLEET_SECRET_LEN];
    uint8_t name[32] = {0};
    for (size_t i = 0; i < sizeof secret; i++)
        secret[i] = (uint8_t)(first + i);
    memcpy(name, tenant, strlen(tenant));
    return ts_fleet_tenant_key_of(secret, ts_bytes_of(name, sizeof name));
}

/* The expected key was computed by another implementation of BLAKE3. The ids of stored findings depend on
 * it. */
static void the_key_of_a_tenant_never_changes(void **state) {
    (void)state;
    const struct ts_fleet_tenant_key key = key_of(0, "acme");
    char text[2 * TS_FLEET_TENANT_KEY_LEN + 1] = "";
    (void)ts_hex_encode(ts_bytes_of(key.bytes, sizeof key.bytes), text);
    assert_string_equal(text, "e7c29541a56b5c1e03058cb09462698d3c8f9374ba34704f073aed00da93421e");
}

static void other_tenants_and_other_clusters_have_other_keys(void **state) {
    (void)state;
    const struct ts_fleet_tenant_key keys[] = {key_of(0, "acme"), key_of(0, "acm"), key_of(1, "acme")};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        for (size_t j = 0; j < i; j++)
            assert_memory_not_equal(&keys[i], &keys[j], sizeof keys[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_key_of_a_tenant_never_changes),
        cmocka_unit_test(other_tenants_and_other_clusters_have_other_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
