#include "options.h"

#include "complain.h"
#include "nearest.h"

#include "base/assert.h"

#include <ctype.h>
#include <string.h>

static const struct cli_option *find_option(const struct cli_verb *verb, const char *name, size_t length) {
    for (size_t i = 0; i < verb->option_count; i++) {
        const struct cli_option *option = &verb->options[i];
        if (strlen(option->name) == length && memcmp(option->name, name, length) == 0)
            return option;
    }
    return NULL;
}

static const struct cli_option *find_letter(const struct cli_verb *verb, char letter) {
    for (size_t i = 0; i < verb->option_count; i++)
        if (verb->options[i].letter != 0 && verb->options[i].letter == letter)
            return &verb->options[i];
    return NULL;
}

static void complain_unknown_option(const struct cli_verb *verb, const char *word, size_t length) {
    const char *names[CLI_OPTIONS_MAX] = {NULL};
    for (size_t i = 0; i < verb->option_count; i++)
        names[i] = verb->options[i].name;
    const char *dashless = word;
    while (*dashless == '-' && dashless < word + length)
        dashless++;
    struct ts_bytes name = ts_bytes_of(dashless, length - (size_t)(dashless - word));
    const char *nearest = cli__nearest(name, names, verb->option_count);
    struct cli_quoted quoted = cli__quote(ts_bytes_of(word, length));
    if (nearest)
        cli__complain(CLI_EXIT_USAGE, "%s: unknown option '%s'; did you mean '--%s'?", verb->name,
                      quoted.text, nearest);
    else
        cli__complain(CLI_EXIT_USAGE, "%s: unknown option '%s'; 'turnstone help %s' lists them", verb->name,
                      quoted.text, verb->name);
}

/* Splits "a|b|c" in place. Returns the number of parts. */
static size_t split_choices(const char *choices, char *buffer, size_t size, const char **ret_names,
                            size_t most) {
    size_t length = strlen(choices);
    ts_assert(length < size);
    memcpy(buffer, choices, length + 1);
    size_t count = 0;
    for (char *name = buffer; name; count++) {
        ts_assert(count < most);
        char *bar = strchr(name, '|');
        if (bar)
            *bar++ = '\0';
        ret_names[count] = name;
        name = bar;
    }
    return count;
}

static bool choice_holds(const struct cli_verb *verb, const struct cli_option *option, const char *value) {
    char buffer[200];
    const char *names[16];
    size_t count = split_choices(option->choices, buffer, sizeof buffer, names, 16);
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], value) == 0)
            return true;
    const char *nearest = cli__nearest(ts_bytes_of_cstring(value), names, count);
    struct cli_quoted quoted = cli__quote_text(value);
    if (nearest)
        cli__complain(CLI_EXIT_USAGE, "%s: --%s takes %s, not '%s'; did you mean '%s'?", verb->name,
                      option->name, option->choices, quoted.text, nearest);
    else
        cli__complain(CLI_EXIT_USAGE, "%s: --%s takes %s, not '%s'", verb->name, option->name,
                      option->choices, quoted.text);
    return false;
}

/* Parses one option. `word` begins with a dash. `next` is the following word, or NULL. Sets *ret_used_next to
 * whether `next` is the value of the option. */
static enum cli_parse parse_option(const struct cli_verb *verb, const char *word, const char *next,
                                   struct cli_given *given, struct cli_arguments *arguments,
                                   bool *ret_used_next) {
    bool is_short = word[1] != '-' && word[1] != '\0';
    const char *attached = is_short && word[2] != '\0' && word[2] != '=' ? word + 2 : NULL;
    const struct cli_option *lettered = attached ? find_letter(verb, word[1]) : NULL;
    if (!lettered || !lettered->argument)
        attached = NULL;
    const char *equals = attached ? NULL : strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    if (!equals && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0))
        return CLI_PARSE_HELP;

    const struct cli_option *option = attached                       ? lettered
                                      : length > 2 && word[1] == '-' ? find_option(verb, word + 2, length - 2)
                                      : length == 2 && !equals       ? find_letter(verb, word[1])
                                                                     : NULL;
    if (!option) {
        complain_unknown_option(verb, word, length);
        return CLI_PARSE_WRONG;
    }
    size_t index = (size_t)(option - verb->options);
    const char **value = &arguments->values[index];
    if (*value && !option->many) {
        cli__complain(CLI_EXIT_USAGE, "%s: --%s is given twice", verb->name, option->name);
        return CLI_PARSE_WRONG;
    }
    *ret_used_next = false;
    if (!option->argument) {
        if (equals) {
            cli__complain(CLI_EXIT_USAGE, "%s: --%s takes no value", verb->name, option->name);
            return CLI_PARSE_WRONG;
        }
        *value = "";
        given[arguments->given_count++] = (struct cli_given){index, *value};
        return CLI_PARSE_OK;
    }
    *value = attached ? attached : equals ? equals + 1 : next;
    *ret_used_next = !attached && !equals;
    if (!*value) {
        cli__complain(CLI_EXIT_USAGE, "%s: --%s needs a value: --%s %s", verb->name, option->name,
                      option->name, option->argument);
        return CLI_PARSE_WRONG;
    }
    given[arguments->given_count++] = (struct cli_given){index, *value};
    return !option->choices || choice_holds(verb, option, *value) ? CLI_PARSE_OK : CLI_PARSE_WRONG;
}

enum cli_parse cli__options_parse(const struct cli_verb *verb, int count, const char *const *words,
                                  struct cli_parse_room room, struct cli_arguments *ret_arguments) {
    ts_assert(verb->option_count <= CLI_OPTIONS_MAX);
    struct cli_arguments arguments = {.operands = room.operands, .given = room.given};
    for (int i = 0; i < count; i++) {
        const char *word = words[i];
        bool is_operand = word[0] != '-' || word[1] == '\0' || isdigit((unsigned char)word[1]);
        if (is_operand) {
            room.operands[arguments.operand_count++] = word;
            continue;
        }
        if (strcmp(word, "--") == 0) {
            while (++i < count)
                room.operands[arguments.operand_count++] = words[i];
            break;
        }
        bool used_next;
        enum cli_parse result =
            parse_option(verb, word, i + 1 < count ? words[i + 1] : NULL, room.given, &arguments, &used_next);
        if (result != CLI_PARSE_OK)
            return result;
        i += used_next;
    }
    if (arguments.operand_count > 0 && !verb->operands) {
        struct cli_quoted quoted = cli__quote_text(arguments.operands[0]);
        cli__complain(CLI_EXIT_USAGE, "%s: unexpected operand '%s'", verb->name, quoted.text);
        return CLI_PARSE_WRONG;
    }
    *ret_arguments = arguments;
    return CLI_PARSE_OK;
}
