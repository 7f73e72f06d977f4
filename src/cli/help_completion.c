#include "help.h"

#include "verb.h"

#include <string.h>

/* Writes the first words of all verbs, each word once, separated by spaces. */
static void put_first_words(FILE *out) {
    for (size_t i = 0; i < cli__verb_count; i++) {
        size_t length = cli__verb_first_word(cli__verbs[i]);
        bool told = false;
        for (size_t j = 0; j < i && !told; j++)
            told = cli__verb_first_word(cli__verbs[j]) == length &&
                   strncmp(cli__verbs[j]->name, cli__verbs[i]->name, length) == 0;
        if (!told)
            fprintf(out, "%s%.*s", i ? " " : "", (int)length, cli__verbs[i]->name);
    }
}

/* Writes a branch of a shell's `case` for each group of verbs. The branch offers the second words of these
 * verbs. */
static void put_groups(FILE *out) {
    for (size_t i = 0; i < cli__verb_count; i++) {
        size_t length = cli__verb_first_word(cli__verbs[i]);
        if (cli__verbs[i]->name[length] != ' ')
            continue;
        bool told = false;
        for (size_t j = 0; j < i && !told; j++)
            told = strncmp(cli__verbs[j]->name, cli__verbs[i]->name, length + 1) == 0;
        if (told)
            continue;
        fprintf(out, "        %.*s) offered=\"", (int)length, cli__verbs[i]->name);
        for (size_t j = i; j < cli__verb_count; j++)
            if (strncmp(cli__verbs[j]->name, cli__verbs[i]->name, length + 1) == 0)
                fprintf(out, "%s%s", j > i ? " " : "", cli__verbs[j]->name + length + 1);
        fputs("\" ;;\n", out);
    }
    fprintf(out, "        help) offered=\"");
    put_first_words(out);
    fputs("\" ;;\n", out);
}

/* Writes a branch of a shell's `case` for each option that has a fixed list of values. */
static void put_choices(FILE *out) {
    for (size_t i = 0; i < cli__verb_count; i++) {
        for (size_t j = 0; j < cli__verbs[i]->option_count; j++) {
            const struct cli_option *option = &cli__verbs[i]->options[j];
            if (!option->choices)
                continue;
            fprintf(out, "        \"%s --%s\") offered=\"", cli__verbs[i]->name, option->name);
            for (const char *c = option->choices; *c; c++)
                fputc(*c == '|' ? ' ' : *c, out);
            fputs("\" ;;\n", out);
        }
    }
}

static void put_options(FILE *out) {
    for (size_t i = 0; i < cli__verb_count; i++) {
        fprintf(out, "        \"%s\") offered=\"--help", cli__verbs[i]->name);
        for (size_t j = 0; j < cli__verbs[i]->option_count; j++)
            fprintf(out, " --%s", cli__verbs[i]->options[j].name);
        fputs("\" ;;\n", out);
    }
}

/*
 * Writes the function that both shells run. It sets `offered` to the possible words at the cursor, using the
 * words before the cursor. "verb" is the first word, or the first two words for a verb with two words.
 */
static void put_function(FILE *out) {
    fputs("__turnstone_words() { # FIRST SECOND PREVIOUS CURRENT PLACE\n"
          "    local first=$1 second=$2 previous=$3 current=$4 place=$5 verb=$1\n"
          "    offered=\n"
          "    if [ \"$place\" -eq 1 ]; then\n"
          "        offered=\"--help --version ",
          out);
    put_first_words(out);
    fputs(
        "\"\n        return 0\n    fi\n"
        "    if [ \"$place\" -eq 2 ] && [ \"${current#-}\" = \"$current\" ]; then\n        case $first in\n",
        out);
    put_groups(out);
    fputs("        esac\n        [ -z \"$offered\" ] || return 0\n    fi\n"
          "    case \"$first $second\" in\n",
          out);
    for (size_t i = 0; i < cli__verb_count; i++)
        if (strchr(cli__verbs[i]->name, ' '))
            fprintf(out, "        \"%s\") verb=\"$first $second\" ;;\n", cli__verbs[i]->name);
    fputs("    esac\n    case \"$verb $previous\" in\n", out);
    put_choices(out);
    fputs("    esac\n    [ -z \"$offered\" ] || return 0\n"
          "    case $current in\n    -*) case $verb in\n",
          out);
    put_options(out);
    fputs("        esac ;;\n    esac\n    return 0\n}\n", out);
}

void cli__help_bash(FILE *out) {
    fputs("# Completion of turnstone for bash.\n\n", out);
    put_function(out);
    fputs(
        "\n_turnstone() {\n"
        "    local offered previous=${COMP_WORDS[COMP_CWORD - 1]} current=${COMP_WORDS[COMP_CWORD]}\n"
        "    # bash takes --name=value for three words\n"
        "    if [ \"$current\" = = ]; then\n"
        "        current=\n"
        "    elif [ \"$previous\" = = ]; then\n"
        "        previous=${COMP_WORDS[COMP_CWORD - 2]}\n"
        "    fi\n"
        "    __turnstone_words \"${COMP_WORDS[1]}\" \"${COMP_WORDS[2]:-}\" \"$previous\" \"$current\" $COMP_CWORD\n"
        "    mapfile -t COMPREPLY < <(compgen -W \"$offered\" -- \"$current\")\n"
        "}\n"
        "complete -o default -F _turnstone turnstone\n",
        out);
}

void cli__help_zsh(FILE *out) {
    fputs("#compdef turnstone\n# Completion of turnstone for zsh.\n\n", out);
    put_function(out);
    fputs(
        "\n_turnstone() {\n"
        "    local offered\n"
        "    __turnstone_words \"${words[2]}\" \"${words[3]}\" \"${words[CURRENT - 1]}\" \"${words[CURRENT]}\" "
        "$((CURRENT - 1))\n"
        "    if [ -n \"$offered\" ]; then compadd -- ${=offered}; else _files; fi\n"
        "}\n\n"
        "if [ \"$funcstack[1]\" = _turnstone ]; then _turnstone \"$@\"; else compdef _turnstone turnstone; fi\n",
        out);
}
