#include "help.h"

#include "verb.h"

#include "turnstone/version.h"

#include <ctype.h>
#include <string.h>

/* Escapes text for roff: backslashes and hyphens. Also keeps roff from reading the beginning of a line as a
 * request. */
static void put_roff(FILE *out, const char *text) {
    bool line_begins = true;
    for (const char *c = text; *c; c++) {
        if (line_begins && (*c == '.' || *c == '\''))
            fputs("\\&", out);
        if (*c == '\\')
            fputs("\\e", out);
        else if (*c == '-')
            fputs("\\-", out);
        else if (strncmp(c, "…", strlen("…")) == 0) {
            fputs("...", out);
            c += strlen("…") - 1;
        } else
            fputc(*c, out);
        line_begins = *c == '\n';
    }
}

static void put_paragraphs(FILE *out, const char *text) {
    for (const char *paragraph = text; *paragraph;) {
        const char *end = strstr(paragraph, "\n\n");
        size_t length = end ? (size_t)(end - paragraph) : strlen(paragraph);
        fputs(paragraph == text ? "" : ".PP\n", out);
        char piece[2000];
        snprintf(piece, sizeof piece, "%.*s", (int)length, paragraph);
        put_roff(out, piece);
        fputc('\n', out);
        paragraph += length + (end ? 2 : 0);
    }
}

static void put_verb(FILE *out, const struct cli_verb *verb) {
    fputs(".SS ", out);
    put_roff(out, verb->name);
    fputs("\n.B turnstone ", out);
    put_roff(out, verb->name);
    fputc('\n', out);
    for (size_t i = 0; i < verb->option_count; i++) {
        const struct cli_option *option = &verb->options[i];
        fputs("[\\fB\\-\\-", out);
        put_roff(out, option->name);
        fputs("\\fR", out);
        if (option->argument) {
            fputs(" \\fI", out);
            put_roff(out, option->choices ? option->choices : option->argument);
            fputs("\\fR", out);
        }
        fputs("]\n", out);
    }
    if (verb->operands) {
        put_roff(out, verb->operands);
        fputc('\n', out);
    }
    fputs(".PP\n", out);
    put_paragraphs(out, verb->description);
    for (size_t i = 0; i < verb->option_count; i++) {
        const struct cli_option *option = &verb->options[i];
        fputs(".TP\n", out);
        if (option->letter)
            fprintf(out, "\\fB\\-%c\\fR, ", option->letter);
        fputs("\\fB\\-\\-", out);
        put_roff(out, option->name);
        fputs("\\fR", out);
        if (option->argument) {
            fputs(" \\fI", out);
            put_roff(out, option->choices ? option->choices : option->argument);
            fputs("\\fR", out);
        }
        fputc('\n', out);
        put_roff(out, option->help);
        fputc('\n', out);
    }
    for (size_t i = 0; i < verb->example_count; i++) {
        fputs(i == 0 ? ".PP\nExamples:\n.TP\n\\fB" : ".TP\n\\fB", out);
        put_roff(out, verb->examples[i].command);
        fputs("\\fR\n", out);
        put_roff(out, verb->examples[i].shows);
        fputc('\n', out);
    }
}

/* Writes every environment variable of every verb, with the name of the verb. */
static void put_variables(FILE *out) {
    fputs(".SH ENVIRONMENT\n", out);
    for (size_t i = 0; i < cli__verb_count; i++) {
        for (size_t j = 0; j < cli__verbs[i]->variable_count; j++) {
            fputs(".TP\n\\fB", out);
            put_roff(out, cli__verbs[i]->variables[j].name);
            fputs("\\fR (", out);
            put_roff(out, cli__verbs[i]->name);
            fputs(")\n", out);
            put_roff(out, cli__verbs[i]->variables[j].means);
            fputc('\n', out);
        }
    }
}

void cli__help_man(FILE *out) {
    fprintf(out, ".TH TURNSTONE 1 \"\" \"turnstone %s\" \"User Commands\"\n", ts_version());
    fputs(".SH NAME\nturnstone \\- report each leaked secret of a repository once\n.SH SYNOPSIS\n.B "
          "turnstone\n.I verb\n[\\fIoption\\fR...] [\\fB\\-\\-\\fR] [\\fIoperand\\fR...]\n.br\n.B turnstone "
          "\\-\\-version\n.SH DESCRIPTION\nTurnstone turns over every commit of every repository it is "
          "given and reports each leaked secret once.\nOptions may come anywhere after the verb and "
          "before\n.BR \\-\\- ,\nas\n\\fB\\-\\-name\\fR \\fIvalue\\fR or "
          "\\fB\\-\\-name=\\fR\\fIvalue\\fR.\nEvery verb takes\n.BR \\-\\-help .\n.SH VERBS\n",
          out);
    for (size_t i = 0; i < cli__verb_count; i++)
        put_verb(out, cli__verbs[i]);
    put_variables(out);
    fputs(".SH EXIT STATUS\n", out);
#define PUT_EXIT(name, value, meaning) fprintf(out, ".TP\n%d\n%s\n", value, meaning);
    CLI_EXIT_TABLE(PUT_EXIT)
#undef PUT_EXIT
}
