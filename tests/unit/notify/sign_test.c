#include "sign.h"

#include "support/cmocka.h"

static void the_example_of_standard_webhooks_has_its_signature(void **state) {
    (void)state;
    uint8_t key[NOTIFY__KEY_MAX];
    char signature[NOTIFY__SIGNATURE_SIZE];
    const size_t len = notify__key_of(TS_BYTES("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n"), key);
    assert_int_equal(len, 24);
    notify__sign(
        ts_bytes_of(key, len),
        &(struct notify__signed){"msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", "{\"test\": 2432232314}"},
        signature);
    assert_string_equal(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

static void a_key_is_the_first_line(void **state) {
    (void)state;
    uint8_t key[NOTIFY__KEY_MAX];
    static const uint8_t longest[NOTIFY__KEY_MAX + 1] = {'x'};
    assert_int_equal(notify__key_of(TS_BYTES("abc\r\nsecond"), key), 3);
    assert_memory_equal(key, "abc", 3);
    assert_int_equal(notify__key_of(TS_BYTES("abc"), key), 3);
    assert_int_equal(notify__key_of(TS_BYTES(""), key), 0);
    assert_int_equal(notify__key_of(TS_BYTES("\nabc"), key), 0);
    assert_int_equal(notify__key_of(TS_BYTES("whsec_"), key), 0);
    assert_int_equal(notify__key_of(TS_BYTES("whsec_a"), key), 0);
    assert_int_equal(notify__key_of(TS_BYTES("whsec_*!"), key), 0);
    assert_int_equal(notify__key_of(ts_bytes_of(longest, sizeof longest), key), 0);
    assert_int_equal(notify__key_of(ts_bytes_of(longest, sizeof longest - 1), key), NOTIFY__KEY_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_of_standard_webhooks_has_its_signature),
        cmocka_unit_test(a_key_is_the_first_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
