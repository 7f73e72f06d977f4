#include "os/out_json.h"

#include "support/cmocka.h"

static struct ts_out out;

static const char *json(struct ts_bytes text) {
    ts_out_init(&out, -1);
    ts_out_put_json(&out, text);
    ts_out_put_char(&out, '\0');
    return (const char *)out.buffer;
}

static void plain_text_stays(void **state) {
    (void)state;
    assert_string_equal(json(TS_BYTES("")), "\"\"");
    assert_string_equal(json(TS_BYTES("a b/c <>&'")), "\"a b/c <>&'\"");
    assert_string_equal(json(TS_BYTES("gr\xc3\xbc\xc3\x9f \xf0\x9f\x90\xa6")),
                        "\"gr\xc3\xbc\xc3\x9f \xf0\x9f\x90\xa6\"");
}

static void quotes_and_controls_are_escaped(void **state) {
    (void)state;
    assert_string_equal(json(TS_BYTES("\"\\\n\t\r\0\x1b\x7f")),
                        "\"\\\"\\\\\\n\\t\\u000d\\u0000\\u001b\\u007f\"");
    assert_string_equal(json(TS_BYTES("\xc2\x9b")), "\"\\u009b\"");
}

static void characters_that_reorder_or_hide_text_are_escaped(void **state) {
    (void)state;
    assert_string_equal(json(TS_BYTES("a\xe2\x80\xae"
                                      "b")),
                        "\"a\\u202eb\"");
    assert_string_equal(json(TS_BYTES("\xf3\xa0\x80\x81")), "\"\\udb40\\udc01\"");
}

static void a_byte_that_is_no_character_is_a_replacement(void **state) {
    (void)state;
    assert_string_equal(json(TS_BYTES("\xff\xc3(")), "\"\xef\xbf\xbd\xef\xbf\xbd(\"");
}

static void parts_make_one_string(void **state) {
    (void)state;
    ts_out_init(&out, -1);
    ts_out_put_json_part(&out, TS_BYTES("a\""));
    ts_out_put_json_part(&out, TS_BYTES("b"));
    ts_out_put_char(&out, '\0');
    assert_string_equal((const char *)out.buffer, "a\\\"b");
}

static void a_comma_is_before_every_member_but_the_first(void **state) {
    (void)state;
    ts_out_init(&out, -1);
    for (size_t i = 0; i < 3; i++) {
        ts_out_put_json_name(&out, i, "a\"b");
        ts_out_put_u64(&out, i);
    }
    ts_out_put_char(&out, '\0');
    assert_string_equal((const char *)out.buffer, "\"a\\\"b\":0,\"a\\\"b\":1,\"a\\\"b\":2");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_text_stays),
        cmocka_unit_test(quotes_and_controls_are_escaped),
        cmocka_unit_test(characters_that_reorder_or_hide_text_are_escaped),
        cmocka_unit_test(a_byte_that_is_no_character_is_a_replacement),
        cmocka_unit_test(parts_make_one_string),
        cmocka_unit_test(a_comma_is_before_every_member_but_the_first),
    };
    return cmocka_run_group_tests_name("out_json", tests, NULL, NULL);
}
