#include "help.h"

#include "complain.h"
#include "output.h"
#include "verbs.h"

#include "turnstone/version.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Output that is not a terminal has WIDE columns. A terminal with fewer than NARROW columns has no second column:
 * explanations begin on their own line. */
enum { WIDE = 80, NARROW = 60, LEAST = 20, INDENT = 24, NARROW_INDENT = 8 };

static int width(void) {
    struct winsize size;
    if (isatty(STDOUT_FILENO) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < LEAST)
        return WIDE;
    return size.ws_col < WIDE ? size.ws_col : WIDE;
}

/* Prints paragraphs wrapped to the width of the terminal, each line indented by `indent` spaces. The first line
 * begins at `column`. */
static void print_wrapped(const char *text, int indent, int column) {
    const int most = width();
    const char *word = text;
    while (*word) {
        if (*word == '\n') {
            printf("\n%s%*s", word[1] == '\n' ? "\n" : "", indent, "");
            column = indent;
            word += strspn(word, "\n");
            continue;
        }
        size_t length = strcspn(word, " \n");
        if (column > indent && column + 1 + (int)length > most) {
            printf("\n%*s", indent, "");
            column = indent;
        }
        bool first = column == indent;
        printf("%s%.*s", first ? "" : " ", (int)length, word);
        column += (int)length + !first;
        word += length;
        word += *word == ' ';
    }
    putchar('\n');
}

/* Returns the width of a text in columns. Bytes that only continue a character take no column. */
static int columns(const char *text) {
    int count = 0;
    for (; *text; text++)
        count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

/* Prints an option as lists show it: "--strategy NAME". Returns the width of the printed text. */
static int print_option(const struct cli_option *option) {
    const char *takes = option->choices ? option->choices : option->argument;
    char letter[] = {'-', option->letter, ',', ' ', '\0'};
    printf("  %s--%s%s%s", option->letter ? letter : "", option->name, takes ? " " : "", takes ? takes : "");
    return (option->letter ? 8 : 4) + columns(option->name) + (takes ? 1 + columns(takes) : 0);
}

static void print_verb(const struct cli_verb *verb) {
    const char *operands = verb->operands ? verb->operands : "";
    printf("turnstone %s: %s\n\nUsage: turnstone %s%s%s%s\n\n", verb->name, verb->summary, verb->name,
           verb->option_count ? " [OPTION…]" : "", operands[0] != '\0' ? " " : "", operands);
    print_wrapped(verb->description, 0, 0);
    if (verb->option_count)
        puts("\nOptions:");
    for (size_t i = 0; i < verb->option_count; i++) {
        const int indent = width() < NARROW ? NARROW_INDENT : INDENT;
        const int used = print_option(&verb->options[i]);
        if (used > indent - 2)
            printf("\n%*s", indent, "");
        else
            printf("%*s", indent - used, "");
        print_wrapped(verb->options[i].help, indent, indent);
    }
    if (verb->variable_count)
        puts("\nEnvironment:");
    for (size_t i = 0; i < verb->variable_count; i++) {
        int indent = printf("  %s  ", verb->variables[i].name);
        if (width() < NARROW)
            printf("\n%*s", indent = NARROW_INDENT, "");
        print_wrapped(verb->variables[i].means, indent, indent);
    }
    if (verb->example_count)
        puts("\nExamples:");
    for (size_t i = 0; i < verb->example_count; i++)
        printf("  %s\n      %s\n", verb->examples[i].command, verb->examples[i].shows);
}

static void print_exit_statuses(void) {
    puts("\nExit status, the same for every verb:");
#define PRINT_EXIT(name, value, meaning)                                                                     \
    printf("  %d  ", value);                                                                                 \
    print_wrapped(meaning, 5, 5);
    CLI_EXIT_TABLE(PRINT_EXIT)
#undef PRINT_EXIT
}

/* Returns the heading of the group that begins with this verb; NULL if no group begins with it. */
static const char *heading_of(const struct cli_verb *verb) {
    static const struct {
        const struct cli_verb *first;
        const char *heading;
    } groups[] = {{&cli__verb_scan, "Find secrets:"},
                  {&cli__verb_targets, "Scan with a fleet:"},
                  {&cli__verb_txn, "Stores and transactions:"},
                  {&cli__verb_route, "Measure, simulate, explain:"}};
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
        if (groups[i].first == verb)
            return groups[i].heading;
    return NULL;
}

/* Prints a verb and its summary for a list of verbs. In all lists the summaries begin in the same column. */
static void print_summary(const struct cli_verb *verb) {
    int longest = 0;
    for (size_t i = 0; i < cli__verb_count; i++) {
        int len = columns(cli__verbs[i]->name);
        longest = len > longest ? len : longest;
    }
    const int indent = width() < NARROW ? NARROW_INDENT : longest + 4;
    if (width() < NARROW)
        printf("  %s\n%*s", verb->name, indent, "");
    else
        printf("  %-*s  ", longest, verb->name);
    print_wrapped(verb->summary, indent, indent);
}

static void print_overview(void) {
    print_wrapped(
        "Turnstone turns over every commit of every repository it is given and reports each leaked secret "
        "once.\n\nUsage: turnstone VERB [OPTION…] [--] [OPERAND…]\n",
        0, 0);
    for (size_t i = 0; i < cli__verb_count; i++) {
        const char *heading = heading_of(cli__verbs[i]);
        if (heading)
            printf("%s%s\n", i > 0 ? "\n" : "", heading);
        print_summary(cli__verbs[i]);
    }
    putchar('\n');
    print_wrapped("'turnstone help VERB' explains a verb; 'turnstone --version' prints the version.", 0, 0);
    print_exit_statuses();
}

static void print_group(const char *word) {
    printf("%sVerbs under 'turnstone %s':\n", cli__verb_find(1, &word) ? "\n" : "", word);
    for (size_t i = 0; i < cli__verb_count; i++) {
        size_t first = cli__verb_first_word(cli__verbs[i]);
        if (cli__verbs[i]->name[first] == ' ' && strlen(word) == first &&
            strncmp(cli__verbs[i]->name, word, first) == 0)
            print_summary(cli__verbs[i]);
    }
}

enum cli_exit cli__help_verb(const struct cli_verb *verb) {
    print_verb(verb);
    if (cli__verb_is_group(verb->name))
        print_group(verb->name);
    return cli__finish_stdout(CLI_EXIT_DONE);
}

enum cli_exit cli__help_text(size_t count, const char *const *words) {
    if (count == 0) {
        print_overview();
        return cli__finish_stdout(CLI_EXIT_DONE);
    }
    const struct cli_verb *verb = cli__verb_find(count, words);
    bool group = count == 1 && cli__verb_is_group(words[0]);
    if (!verb && !group)
        return cli__verb_complain_unknown(count, words);
    if (verb)
        return cli__help_verb(verb);
    print_group(words[0]);
    return cli__finish_stdout(CLI_EXIT_DONE);
}

enum cli_exit cli__help_version(void) {
    printf("turnstone %s\n", ts_version());
    return cli__finish_stdout(CLI_EXIT_DONE);
}

enum { HELP_AS };

static const struct cli_option help_options[] = {
    [HELP_AS] = {.name = "as",
                 .argument = "FORM",
                 .choices = "text|man|bash|zsh",
                 .help =
                     "the form: text for the terminal, the man page, or a shell completion (default: text)"},
};

static const struct cli_example help_examples[] = {
    {"turnstone help route", "the help of the verb route"},
    {"turnstone help --as man | man -l -", "the whole manual"},
};

static enum cli_exit run_help(const struct cli_arguments *arguments) {
    const char *as = arguments->values[HELP_AS];
    if (as && strcmp(as, "text") != 0) {
        if (arguments->operand_count > 0)
            return cli__complain(CLI_EXIT_USAGE, "help: --as %s prints all verbs; leave out '%s'", as,
                                 cli__quote_text(arguments->operands[0]).text);
        if (strcmp(as, "man") == 0)
            cli__help_man(stdout);
        else if (strcmp(as, "bash") == 0)
            cli__help_bash(stdout);
        else
            cli__help_zsh(stdout);
        return cli__finish_stdout(CLI_EXIT_DONE);
    }
    return cli__help_text(arguments->operand_count, arguments->operands);
}

const struct cli_verb cli__verb_help = {
    .name = "help",
    .summary = "explain a verb, or list all verbs",
    .operands = "[VERB]",
    .description =
        "Explains a verb and its options. Without a verb it lists all verbs and the exit statuses.",
    .options = help_options,
    .option_count = sizeof help_options / sizeof help_options[0],
    .examples = help_examples,
    .example_count = sizeof help_examples / sizeof help_examples[0],
    .run = run_help,
};
