#include "rules_score.h"

#include "complain.h"

#include "base/redact.h"
#include "detect/detector.h"
#include "detect/model.h"
#include "detect/scanner.h"
#include "os/grow.h"
#include "os/out_json.h"
#include "os/read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_MAX ((size_t)16 << 20)

struct cli_scorer {
    const struct ts_ruleset *rules;
    struct ts_out *out;
    bool json;
    struct ts_detector *detector;
    struct ts_scanner *scanner;
    struct ts_match *matches;
    size_t count;
    size_t capacity;
    bool no_memory;
    size_t feature_count; /* number of features printed for the current finding */
};

struct cli_scorer *cli__scorer_new(const struct ts_ruleset *rules, struct ts_out *out, bool json) {
    struct ts_detect_error error;
    struct cli_scorer *scorer = calloc(1, sizeof *scorer);
    if (!scorer) {
        cli__complain(CLI_EXIT_INFRASTRUCTURE, "out of memory");
        return NULL;
    }
    *scorer = (struct cli_scorer){.rules = rules, .out = out, .json = json};
    scorer->detector = ts_detector_new(rules, &(struct ts_detector_options){.cache_folder = NULL}, &error);
    if (!scorer->detector) {
        cli__complain(CLI_EXIT_USAGE, "rules explain: %s", error.text);
    } else {
        scorer->scanner = ts_scanner_new(scorer->detector);
        if (!scorer->scanner)
            cli__complain(CLI_EXIT_INFRASTRUCTURE, "out of memory");
    }
    if (scorer->scanner)
        return scorer;
    cli__scorer_free(scorer);
    return NULL;
}

static void forget_matches(struct cli_scorer *scorer) {
    for (size_t i = 0; i < scorer->count; i++)
        free((void *)(uintptr_t)scorer->matches[i].secret.data);
    scorer->count = 0;
}

void cli__scorer_free(struct cli_scorer *scorer) {
    if (!scorer)
        return;
    forget_matches(scorer);
    free(scorer->matches);
    ts_scanner_free(scorer->scanner);
    ts_detector_free(scorer->detector);
    free(scorer);
}

/* Keeps a match with a copy of its secret, because the secret is valid only during the call. */
static void on_match(void *context, const struct ts_match *match) {
    struct cli_scorer *scorer = context;
    bool has_room = TS_GROW(scorer->matches, scorer->capacity, scorer->count + 1);
    uint8_t *secret = has_room ? malloc(match->secret.len) : NULL;
    if (!secret) {
        scorer->no_memory = true;
        return;
    }
    memcpy(secret, match->secret.data, match->secret.len);
    scorer->matches[scorer->count] = *match;
    scorer->matches[scorer->count++].secret = ts_bytes_of(secret, match->secret.len);
}

static void put_feature(void *context, const char *feature, int32_t weight) {
    struct cli_scorer *scorer = context;
    char text[160];
    if (scorer->json) {
        ts_out_put_cstring(scorer->out, ts_json_separator(scorer->feature_count++, ","));
        ts_out_put_char(scorer->out, '[');
        ts_out_put_json(scorer->out, ts_bytes_of_cstring(feature));
        snprintf(text, sizeof text, ",%d]", weight);
    } else {
        snprintf(text, sizeof text, "  %+7.3f  %s\n", (double)weight / 1000, feature);
    }
    /* Features without a weight are printed only as JSON, because people are not interested in them. */
    if (scorer->json || weight != 0)
        ts_out_put_cstring(scorer->out, text);
}

/* Prints the line and the column of a place in the text, both from 1: "12:15". */
static void put_place(struct cli_scorer *scorer, struct ts_bytes text, size_t at) {
    uint64_t line = 1;
    size_t from = 0;
    for (size_t i = 0; i < at; i++)
        if (text.data[i] == '\n') {
            line++;
            from = i + 1;
        }
    ts_out_put_u64(scorer->out, line);
    ts_out_put_char(scorer->out, ':');
    ts_out_put_u64(scorer->out, at - from + 1);
}

struct finding {
    const struct ts_rule *rule;
    const struct ts_match *match;
    const char *path;
    struct ts_bytes text;
};

static void put_head(struct cli_scorer *scorer, const struct finding *finding) {
    struct ts_span at = finding->match->secret_span;
    if (scorer->json) {
        ts_out_put_cstring(scorer->out, "{\"path\":");
        ts_out_put_json(scorer->out, ts_bytes_of_cstring(finding->path));
        ts_out_put_cstring(scorer->out, ",\"from\":\"");
        put_place(scorer, finding->text, at.from);
        ts_out_put_cstring(scorer->out, "\",\"to\":\"");
        put_place(scorer, finding->text, at.from + at.len);
        ts_out_put_cstring(scorer->out, "\",\"rule\":");
        ts_out_put_json(scorer->out, ts_bytes_of_cstring(finding->rule->id));
        ts_out_put_cstring(scorer->out, ",\"features\":[");
        return;
    }
    char path[300];
    (void)ts_text_escape(ts_bytes_of_cstring(finding->path), path, sizeof path);
    ts_out_put_cstring(scorer->out, path);
    ts_out_put_char(scorer->out, ':');
    put_place(scorer, finding->text, at.from);
    ts_out_put_cstring(scorer->out, "  ");
    ts_out_put_cstring(scorer->out, finding->rule->id);
    ts_out_put_char(scorer->out, '\n');
}

static void put_tail(struct cli_scorer *scorer, const struct finding *finding, bool is_scored,
                     int32_t score) {
    char text[160];
    struct ts_model_match match = {finding->match->confidence, finding->match->score};
    const char *confidence = ts_confidence_name(ts_model_confidence_at(finding->rule, match, finding->path));
    unsigned probability = is_scored ? ts_model_probability(score) : 0;
    if (scorer->json && is_scored)
        snprintf(text, sizeof text, "],\"score\":%d,\"probability\":%u.%03u,\"confidence\":\"%s\"}\n", score,
                 probability / 1000, probability % 1000, confidence);
    else if (scorer->json)
        snprintf(text, sizeof text, "],\"confidence\":\"%s\"}\n", confidence);
    else if (is_scored)
        snprintf(text, sizeof text, "  %+7.3f  probability %u.%03u, %s confidence\n", (double)score / 1000,
                 probability / 1000, probability % 1000, confidence);
    else
        snprintf(text, sizeof text, "  %s confidence, by the rule and its validators\n", confidence);
    ts_out_put_cstring(scorer->out, text);
}

static void explain(struct cli_scorer *scorer, const struct finding *finding) {
    scorer->feature_count = 0;
    put_head(scorer, finding);
    const struct ts_match *match = finding->match;
    bool is_invented = match->score == TS_MODEL_SCORE_LEAST;
    bool is_scored = finding->rule->scored && match->depth == 0 && !is_invented;
    int32_t score = match->score;
    if (is_scored) {
        score = ts_model_explain(finding->rule, finding->text, match, put_feature, scorer);
        score += ts_model_path_score(finding->rule->id, finding->path, put_feature, scorer);
    } else if (finding->rule->scored && !is_invented) {
        score += ts_model_path_score(finding->rule->id, finding->path, NULL, NULL);
    }
    put_tail(scorer, finding, finding->rule->scored && !is_invented, score);
}

bool cli__scorer_explain(struct cli_scorer *scorer, const char *path, struct ts_bytes text) {
    struct ts_scanner_input scan = {.bytes = text};
    scorer->no_memory = false;
    forget_matches(scorer);
    bool done = ts_scanner_scan(scorer->scanner, &scan, on_match, scorer) && !scorer->no_memory;
    /* Settles a copy, because settling moves matches to the front, and all secrets must be freed later. */
    struct ts_match *settled = done ? malloc((scorer->count + 1) * sizeof *settled) : NULL;
    if (!settled)
        return false;
    if (scorer->count > 0)
        memcpy(settled, scorer->matches, scorer->count * sizeof *settled);
    size_t count = ts_matches_settle(scorer->rules, settled, scorer->count);
    for (size_t i = 0; i < count; i++) {
        const struct ts_rule *rule = &scorer->rules->rules[settled[i].rule];
        if (ts_rule_applies(rule, path))
            explain(scorer, &(struct finding){rule, &settled[i], path, text});
    }
    free(settled);
    return true;
}

enum cli_exit cli__scorer_explain_file(struct cli_scorer *scorer, const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    uint8_t *bytes = NULL;
    size_t len = 0;
    enum cli_exit status = CLI_EXIT_DONE;
    if (fd < 0 || !ts_read_all(fd, FILE_MAX, &bytes, &len))
        status = cli__complain(CLI_EXIT_USAGE, "rules explain: '%s': %s", cli__quote_text(path).text,
                               strerror(errno));
    else if (len > FILE_MAX)
        status = cli__complain(CLI_EXIT_USAGE, "rules explain: '%s': larger than 16 MiB",
                               cli__quote_text(path).text);
    else if (bytes != NULL && !cli__scorer_explain(scorer, path, ts_bytes_of(bytes, len)))
        status = cli__complain(CLI_EXIT_INFRASTRUCTURE, "out of memory");
    if (fd >= 0)
        (void)close(fd);
    free(bytes);
    return status;
}
