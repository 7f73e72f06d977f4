#include "toml.h"

#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

static void expect(const char *text, const char *expected) {
    struct cli_toml_error error;
    json_t *tree = cli__toml_parse(ts_bytes_of_cstring(text), &error);
    if (tree == NULL)
        fail_msg("%zu: %s", error.line, error.text);
    char *found = json_dumps(tree, JSON_COMPACT | JSON_SORT_KEYS);
    assert_non_null(found);
    assert_string_equal(found, expected);
    free(found);
    json_decref(tree);
}

static void refuse(const char *text, size_t line, const char *why) {
    struct cli_toml_error error;
    assert_null(cli__toml_parse(ts_bytes_of_cstring(text), &error));
    assert_int_equal(error.line, line);
    if (strstr(error.text, why) == NULL)
        fail_msg("%s", error.text);
}

static void values_are_texts_numbers_flags_arrays_and_tables(void **state) {
    (void)state;
    expect("a = 1\nb = -2_000\nc = 3.5 # comment\nd = true\ne = false\n",
           "{\"a\":1,\"b\":-2000,\"c\":3.5,\"d\":true,\"e\":false}");
    expect("a = [1, [\"b\", 'c'],\n  # comment\n  {d.e = 1, f = []},\n]\r\n",
           "{\"a\":[1,[\"b\",\"c\"],{\"d\":{\"e\":1},\"f\":[]}]}");
    expect("when = 2024-03-01T10:00:00Z\nhex = 0x1f", "{\"hex\":31,\"when\":\"2024-03-01T10:00:00Z\"}");
    expect("", "{}");
    expect("\xef\xbb\xbf# only a comment", "{}");
}

static void strings_have_four_forms(void **state) {
    (void)state;
    expect("a = \"x\\n\\\"\\u00e9\\U0001F600\"", "{\"a\":\"x\\n\\\"\xc3\xa9\xf0\x9f\x98\x80\"}");
    expect("a = 'x\\n'", "{\"a\":\"x\\\\n\"}");
    expect("a = '''\n\\d 'x' '''''", "{\"a\":\"\\\\d 'x' ''\"}");
    expect("a = \"\"\"\nx\ny \\\n   z\"\"\"", "{\"a\":\"x\\ny z\"}");
    expect("\"a b\".'c.d' = ''", "{\"a b\":{\"c.d\":\"\"}}");
}

static void tables_nest_and_repeat(void **state) {
    (void)state;
    expect("t = 1\n[a.b]\nc = 1\n[a]\nd = 2\n", "{\"a\":{\"b\":{\"c\":1},\"d\":2},\"t\":1}");
    expect("[[r]]\nid = 1\n[[r.w]]\nx = 1\n[[r.w]]\nx = 2\n[[r]]\nid = 2\n[r.one]\ny = 3\n",
           "{\"r\":[{\"id\":1,\"w\":[{\"x\":1},{\"x\":2}]},{\"id\":2,\"one\":{\"y\":3}}]}");
}

static void wrong_lines_are_named(void **state) {
    (void)state;
    refuse("a = 1\nb", 2, "needs '='");
    refuse("a = 1\na = 2", 2, "twice");
    refuse("a = \n", 1, "value is missing");
    refuse("a = maybe", 1, "texts need quotes");
    refuse("a = \"x\nb = 1", 1, "has no closing quote");
    refuse("a = \"\\d\"", 1, "unknown escape");
    refuse("a = \"\\u12\"", 1, "hexadecimal");
    refuse("a = [1 2]", 1, "needs ',' or ']'");
    refuse("a = {b = 1", 1, "needs ',' or '}'");
    refuse("a = 1 b = 2", 1, "unexpected text");
    refuse("[a\nb = 1", 1, "has no closing bracket");
    refuse("a = 1\n[a]", 2, "cannot be a table");
    refuse("a = 1\n[[a]]", 2, "cannot be an array");
    refuse("a = \"\xff\"", 1, "not UTF-8");
    char deep[400];
    memset(deep, '[', sizeof deep - 1);
    memcpy(deep, "a = ", 4);
    deep[sizeof deep - 1] = '\0';
    refuse(deep, 1, "too deep");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_texts_numbers_flags_arrays_and_tables),
        cmocka_unit_test(strings_have_four_forms),
        cmocka_unit_test(tables_nest_and_repeat),
        cmocka_unit_test(wrong_lines_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
