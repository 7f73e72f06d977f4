#include "options.h"

#include "support/cmocka.h"

#include <string.h>

enum { COLOUR, COUNT, LOUD, TAG };

static const struct cli_option options[] = {
    [COLOUR] = {.name = "colour", .argument = "NAME", .choices = "red|green"},
    [COUNT] = {.name = "count", .argument = "N", .letter = 'c'},
    [LOUD] = {.name = "loud", .letter = 'l'},
    [TAG] = {.name = "tag", .argument = "T", .many = true},
};

static const struct cli_verb verb = {.name = "paint",
                                     .operands = "THING…",
                                     .options = options,
                                     .option_count = sizeof options / sizeof options[0]};

static const struct cli_verb without_operands = {.name = "wash"};

enum { WORDS_MAX = 16 };

static const char *operands[WORDS_MAX];
static struct cli_given given[WORDS_MAX];

/* Parses the words, which end with NULL. */
static enum cli_parse parse(const struct cli_verb *by, const char *const *words, struct cli_arguments *ret) {
    int count = 0;
    while (words[count])
        count++;
    return cli__options_parse(by, count, words, (struct cli_parse_room){operands, given}, ret);
}

#define PARSE(by, ret, ...) parse(by, (const char *const[]){__VA_ARGS__, NULL}, ret)

static void values_follow_a_space_or_an_equals_sign(void **state) {
    (void)state;
    struct cli_arguments arguments;
    assert_int_equal(PARSE(&verb, &arguments, "--count", "3", "--colour=red"), CLI_PARSE_OK);
    assert_string_equal(arguments.values[COUNT], "3");
    assert_string_equal(arguments.values[COLOUR], "red");
    assert_null(arguments.values[LOUD]);
    assert_int_equal(arguments.operand_count, 0);
    assert_int_equal(PARSE(&verb, &arguments, "--count="), CLI_PARSE_OK);
    assert_string_equal(arguments.values[COUNT], "");
    assert_int_equal(PARSE(&verb, &arguments, "--count", "--loud"), CLI_PARSE_OK);
    assert_string_equal(arguments.values[COUNT], "--loud");
    assert_null(arguments.values[LOUD]);
}

static void values_may_follow_a_short_option(void **state) {
    (void)state;
    struct cli_arguments arguments;
    assert_int_equal(PARSE(&verb, &arguments, "-c", "3", "-l"), CLI_PARSE_OK);
    assert_string_equal(arguments.values[COUNT], "3");
    assert_string_equal(arguments.values[LOUD], "");
    assert_int_equal(PARSE(&verb, &arguments, "-c12", "thing"), CLI_PARSE_OK);
    assert_string_equal(arguments.values[COUNT], "12");
    assert_int_equal(arguments.operand_count, 1);
    assert_int_equal(PARSE(&verb, &arguments, "-ca=b"), CLI_PARSE_OK);
    assert_string_equal(arguments.values[COUNT], "a=b");
    /* Nothing may follow a short option without a value, and only long options take an equals sign. */
    assert_int_equal(PARSE(&verb, &arguments, "-l2"), CLI_PARSE_WRONG);
    assert_int_equal(PARSE(&verb, &arguments, "-c=3"), CLI_PARSE_WRONG);
    assert_int_equal(PARSE(&verb, &arguments, "-x3"), CLI_PARSE_WRONG);
}

static void operands_may_be_anywhere_and_keep_their_order(void **state) {
    (void)state;
    struct cli_arguments arguments;
    assert_int_equal(PARSE(&verb, &arguments, "a", "--loud", "-1", "-", "--", "--loud", "--"), CLI_PARSE_OK);
    static const char *const expected[] = {"a", "-1", "-", "--loud", "--"};
    assert_int_equal(arguments.operand_count, 5);
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(arguments.operands[i], expected[i]);
    assert_string_equal(arguments.values[LOUD], "");
}

static void repeated_options_are_kept_in_order(void **state) {
    (void)state;
    struct cli_arguments arguments;
    assert_int_equal(PARSE(&verb, &arguments, "--tag", "x", "--loud", "--tag=y"), CLI_PARSE_OK);
    assert_int_equal(arguments.given_count, 3);
    assert_int_equal(arguments.given[0].option, TAG);
    assert_string_equal(arguments.given[0].value, "x");
    assert_int_equal(arguments.given[1].option, LOUD);
    assert_int_equal(arguments.given[2].option, TAG);
    assert_string_equal(arguments.given[2].value, "y");
    assert_string_equal(arguments.values[TAG], "y");
}

static void mistakes_leave_the_arguments_as_they_were(void **state) {
    (void)state;
    static const char *const mistakes[][3] = {
        {"--size", "3"}, {"--count"},    {"--loud=yes"}, {"--colour", "blue"}, {"--count=1", "--count=2"},
        {"-c"},          {"---count=1"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        struct cli_arguments arguments;
        struct cli_arguments before;
        memset(&arguments, 0x5a, sizeof arguments);
        memcpy(&before, &arguments, sizeof before);
        const char *words[4] = {mistakes[i][0], mistakes[i][1], mistakes[i][2], NULL};
        assert_int_equal(parse(&verb, words, &arguments), CLI_PARSE_WRONG);
        assert_memory_equal(&arguments, &before, sizeof before);
    }
    struct cli_arguments arguments;
    assert_int_equal(PARSE(&without_operands, &arguments, "thing"), CLI_PARSE_WRONG);
}

static void help_wins_over_mistakes_after_it(void **state) {
    (void)state;
    struct cli_arguments arguments;
    assert_int_equal(PARSE(&verb, &arguments, "--loud", "--help", "--size"), CLI_PARSE_HELP);
    assert_int_equal(PARSE(&verb, &arguments, "-h"), CLI_PARSE_HELP);
    assert_int_equal(PARSE(&verb, &arguments, "--", "--help"), CLI_PARSE_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_follow_a_space_or_an_equals_sign),
        cmocka_unit_test(values_may_follow_a_short_option),
        cmocka_unit_test(operands_may_be_anywhere_and_keep_their_order),
        cmocka_unit_test(repeated_options_are_kept_in_order),
        cmocka_unit_test(mistakes_leave_the_arguments_as_they_were),
        cmocka_unit_test(help_wins_over_mistakes_after_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
