#include "complain.h"
#include "help.h"
#include "options.h"
#include "verb.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool asks_for_help(const char *word) {
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static enum cli_exit run(int argc, char **argv) {
    if (argc < 2)
        return cli__complain(CLI_EXIT_USAGE, "no verb given; 'turnstone help' lists them");
    const char *const *words = (const char *const *)argv + 1;
    int count = argc - 1;
    bool asks_for_version = strcmp(words[0], "--version") == 0;
    if ((asks_for_version || asks_for_help(words[0])) && count > 1)
        return cli__complain(CLI_EXIT_USAGE, "unexpected operand '%s'", cli__quote_text(words[1]).text);
    if (asks_for_version)
        return cli__help_version();
    if (asks_for_help(words[0]))
        return cli__help_text(0, NULL);

    /* Tries a verb of two words, such as "txn status", before a verb of one word, such as "txn". */
    int taken = 2;
    const struct cli_verb *verb = count >= 2 ? cli__verb_find(2, words) : NULL;
    if (!verb) {
        taken = 1;
        verb = cli__verb_find(1, words);
    }
    if (!verb && count == 2 && cli__verb_is_group(words[0]) && asks_for_help(words[1]))
        return cli__help_text(1, words);
    /* "txn statsu ID": the verb takes no operands, so the second word was meant as a part of the verb. */
    bool second_is_wrong = verb && taken == 1 && count >= 2 && !verb->operands && words[1][0] != '-' &&
                           cli__verb_is_group(words[0]);
    if (!verb || second_is_wrong)
        return cli__verb_complain_unknown((size_t)count, words);

    struct cli_parse_room room = {
        .operands = calloc((size_t)argc, sizeof *room.operands),
        .given = calloc((size_t)argc, sizeof *room.given),
    };
    struct cli_arguments arguments;
    enum cli_exit status = CLI_EXIT_USAGE;
    if (!room.operands || !room.given) {
        status = cli__complain(CLI_EXIT_INFRASTRUCTURE, "out of memory");
        goto done;
    }
    switch (cli__options_parse(verb, count - taken, words + taken, room, &arguments)) {
    case CLI_PARSE_OK:
        status = verb->run(&arguments);
        break;
    case CLI_PARSE_HELP:
        status = cli__help_verb(verb);
        break;
    case CLI_PARSE_WRONG:
        break;
    }
done:
    free(room.given);
    free(room.operands);
    return status;
}

int main(int argc, char **argv) {
    /* With SIGXFSZ ignored, a limit on file sizes (ulimit -f) causes a write error, like a full disk. */
    (void)signal(SIGXFSZ, SIG_IGN);
    return (int)run(argc, argv);
}
