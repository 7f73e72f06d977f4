/*
 * Explains the confidence of findings, for turnstone rules explain.
 */
#ifndef TS_CLI_RULES_SCORE_H
#define TS_CLI_RULES_SCORE_H

#include "exit_status.h"

#include "base/bytes.h"
#include "detect/ruleset.h"
#include "os/out.h"

#include <stdbool.h>

struct cli_scorer;

/* Returns a scorer. Prints an error and returns NULL when the rules cannot be compiled or memory runs out.
 * The rules must stay valid as long as the scorer. */
struct cli_scorer *cli__scorer_new(const struct ts_ruleset *rules, struct ts_out *out, bool json);
void cli__scorer_free(struct cli_scorer *scorer);

/* Prints every finding in the text, and the parts of its confidence. Treats the text as a file with this
 * path. Returns false when memory runs out. */
bool cli__scorer_explain(struct cli_scorer *scorer, const char *path, struct ts_bytes text);

/* Like cli__scorer_explain, for a file. */
enum cli_exit cli__scorer_explain_file(struct cli_scorer *scorer, const char *path);

#endif
