#include "coord/core/lease_token.h"

#include "support/cmocka.h"

static const uint8_t secret[TS_LEASE_TOKEN_SECRET_LEN] = {1, 2, 3};

static struct ts_lease a_lease(void) {
    const struct ts_lease_fields fields = {
        .tenant = {{'t'}}, .shard = {{7}, {3}}, .owner = {{'w'}}, .fence = {2}, .deadline = {500}};
    return ts_lease_make(&fields);
}

static bool reads(const uint8_t *with, const char *text) {
    struct ts_lease lease;
    return ts_lease_token_read(with, ts_bytes_of_cstring(text), &lease);
}

static void a_token_gives_back_the_lease_that_it_was_made_of(void **state) {
    (void)state;
    const struct ts_lease lease = a_lease();
    char text[TS_LEASE_TOKEN_SIZE];
    ts_lease_token_make(secret, &lease, text);
    assert_int_equal(strlen(text), TS_LEASE_TOKEN_SIZE - 1);
    struct ts_lease back;
    assert_true(ts_lease_token_read(secret, ts_bytes_of_cstring(text), &back));
    assert_memory_equal(&back, &lease, sizeof lease);
}

static void an_edited_token_is_refused_wherever_it_was_edited(void **state) {
    (void)state;
    const struct ts_lease lease = a_lease();
    char text[TS_LEASE_TOKEN_SIZE];
    ts_lease_token_make(secret, &lease, text);
    for (size_t i = 0; i < TS_LEASE_TOKEN_SIZE - 1; i++) {
        char was = text[i];
        text[i] = was == '0' ? '1' : '0';
        assert_false(reads(secret, text));
        text[i] = was;
    }
    assert_true(reads(secret, text));
}

static void a_token_of_another_cluster_is_refused(void **state) {
    (void)state;
    const struct ts_lease lease = a_lease();
    char text[TS_LEASE_TOKEN_SIZE];
    ts_lease_token_make(secret, &lease, text);
    static const uint8_t other[TS_LEASE_TOKEN_SECRET_LEN] = {1, 2, 4};
    assert_false(reads(other, text));
}

static void an_invalid_token_is_refused(void **state) {
    (void)state;
    const struct ts_lease lease = a_lease();
    char text[TS_LEASE_TOKEN_SIZE + 1];
    ts_lease_token_make(secret, &lease, text);
    assert_false(reads(secret, ""));
    assert_false(reads(secret, "tsl1"));
    text[TS_LEASE_TOKEN_SIZE - 1] = '0';
    text[TS_LEASE_TOKEN_SIZE] = '\0';
    assert_false(reads(secret, text));
    text[TS_LEASE_TOKEN_SIZE - 2] = '\0';
    assert_false(reads(secret, text));
    ts_lease_token_make(secret, &lease, text);
    for (char *c = text + 4; *c != '\0'; c++)
        if (*c >= 'a' && *c <= 'f')
            *c = (char)(*c - 'a' + 'A');
    assert_false(reads(secret, text));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_gives_back_the_lease_that_it_was_made_of),
        cmocka_unit_test(an_edited_token_is_refused_wherever_it_was_edited),
        cmocka_unit_test(a_token_of_another_cluster_is_refused),
        cmocka_unit_test(an_invalid_token_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
