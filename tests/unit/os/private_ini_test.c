#include "os/private_ini.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

static const struct ts_private_ini_words words = {.section = "host", .form = "a host is written as [name]"};

/* Returns the sections and settings as one text, such as "1[a] 2(key=value) end". After an error, the text
 * ends with the error instead of "end". */
static const char *read_text(const char *given) {
    static char all[512];
    char text[256];
    assert_true(snprintf(text, sizeof text, "%s", given) < (int)sizeof text);
    struct ts_private_file file = {.text = text, .size = strlen(text), .rest = text};
    struct ts_private_ini ini = {.file = &file, .words = &words};
    struct ts_private_ini_item item;
    struct ts_private_error error = {"end"};
    enum ts_private_ini_result result;
    size_t len = 0;
    while ((result = ts_private_ini_next(&ini, &item, &error)) < TS_PRIVATE_INI_END) {
        assert_int_equal(item.value == NULL, result == TS_PRIVATE_INI_SECTION);
        len += (size_t)(item.value == NULL
                            ? snprintf(all + len, sizeof all - len, "%u[%s] ", item.line, item.name)
                            : snprintf(all + len, sizeof all - len, "%u(%s=%s) ", item.line, item.name,
                                       item.value));
    }
    (void)snprintf(all + len, sizeof all - len, "%s", error.text);
    ts_private_ini_release(&ini);
    ts_private_ini_release(&ini);
    return all;
}

static void sections_and_settings_come_in_order_with_their_lines(void **state) {
    (void)state;
    assert_string_equal(read_text(""), "end");
    assert_string_equal(read_text("# [a]\n\n"), "end");
    assert_string_equal(read_text("# c\n[a]\nk = v\r\n\n  l=p = q # no comment \n[[::1]:80]\nk=w"),
                        "2[a] 3(k=v) 5(l=p = q # no comment) 6[[::1]:80] 7(k=w) end");
}

static void a_mistake_is_named_by_its_line_and_never_shows_a_value(void **state) {
    (void)state;
    assert_string_equal(read_text("\nk = hidden\n"), "line 2: a host in brackets must come first");
    assert_string_equal(read_text("[a]\nhidden\n"), "1[a] line 2: a setting is written as KEY = VALUE");
    assert_string_equal(read_text("[a]\n = hidden\n"), "1[a] line 2: a setting is written as KEY = VALUE");
    assert_string_equal(read_text("[a]\nk =\n"),
                        "1[a] line 2: the value is empty; write one, or remove the line");
    assert_string_equal(read_text("[a\n"), "line 1: a host is written as [name]");
    assert_string_equal(read_text("[]\n"), "line 1: a host is written as [name]");
}

static void a_section_occurs_once_and_a_key_once_in_its_section(void **state) {
    (void)state;
    assert_string_equal(read_text("[a]\n[b]\n[a]\n"),
                        "1[a] 2[b] line 3: the host occurs twice; write all its settings below one [host]");
    assert_string_equal(read_text("[a]\nk=1\n[b]\nk=2\nl=3\nk = hidden\n"),
                        "1[a] 2(k=1) 3[b] 4(k=2) 5(l=3) "
                        "line 6: the key occurs twice for this host; remove one of them");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections_and_settings_come_in_order_with_their_lines),
        cmocka_unit_test(a_mistake_is_named_by_its_line_and_never_shows_a_value),
        cmocka_unit_test(a_section_occurs_once_and_a_key_once_in_its_section),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
