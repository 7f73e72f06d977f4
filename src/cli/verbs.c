#include "verbs.h"

#include "complain.h"
#include "nearest.h"

#include "base/assert.h"

#include <stdio.h>
#include <string.h>

/* All verbs, in the order in which help lists them. */
const struct cli_verb *const cli__verbs[] = {
    &cli__verb_scan,
    &cli__verb_protect,
    &cli__verb_baseline,
    &cli__verb_verify,
    &cli__verb_rules_list,
    &cli__verb_rules_check,
    &cli__verb_rules_explain,
    &cli__verb_rules_import,
    &cli__verb_rules_test,
    &cli__verb_targets,
    &cli__verb_schedule_add,
    &cli__verb_schedule_list,
    &cli__verb_schedule_show,
    &cli__verb_schedule_pause,
    &cli__verb_schedule_resume,
    &cli__verb_schedule_remove,
    &cli__verb_worker,
    &cli__verb_worker_list,
    &cli__verb_findings_list,
    &cli__verb_findings_show,
    &cli__verb_findings_export,
    &cli__verb_findings_triage,
    &cli__verb_run_create,
    &cli__verb_run_register,
    &cli__verb_run_list,
    &cli__verb_run_show,
    &cli__verb_run_watch,
    &cli__verb_run_diff,
    &cli__verb_run_audit,
    &cli__verb_run_complete,
    &cli__verb_run_fail,
    &cli__verb_run_cancel,
    &cli__verb_run_delete,
    &cli__verb_shard_list,
    &cli__verb_shard_show,
    &cli__verb_shard_unpark,
    &cli__verb_lease_claim,
    &cli__verb_lease_acquire,
    &cli__verb_lease_renew,
    &cli__verb_lease_checkpoint,
    &cli__verb_lease_complete,
    &cli__verb_lease_park,
    &cli__verb_lease_release,
    &cli__verb_lease_split_replace,
    &cli__verb_lease_split_residual,
    &cli__verb_txn,
    &cli__verb_txn_status,
    &cli__verb_store_init,
    &cli__verb_store_status,
    &cli__verb_store_recover,
    &cli__verb_store_fence,
    &cli__verb_store_get,
    &cli__verb_store_scan,
    &cli__verb_route,
    &cli__verb_bench_route,
    &cli__verb_bench_xs,
    &cli__verb_bench_coord,
    &cli__verb_sim,
    &cli__verb_help,
};
const size_t cli__verb_count = sizeof cli__verbs / sizeof cli__verbs[0];

const struct cli_verb *cli__verb_find(size_t count, const char *const *words) {
    if (count == 0 || count > 2)
        return NULL;
    for (size_t i = 0; i < cli__verb_count; i++) {
        const char *name = cli__verbs[i]->name;
        size_t first = cli__verb_first_word(cli__verbs[i]);
        if (strlen(words[0]) != first || memcmp(words[0], name, first) != 0)
            continue;
        const char *second = name[first] ? name + first + 1 : NULL;
        if (count == 1 ? !second : second && strcmp(words[1], second) == 0)
            return cli__verbs[i];
    }
    return NULL;
}

size_t cli__verb_first_word(const struct cli_verb *verb) {
    return strcspn(verb->name, " ");
}

/* Returns whether the verb is in the group with this name. */
static bool is_under(const struct cli_verb *verb, const char *word) {
    size_t first = cli__verb_first_word(verb);
    return verb->name[first] == ' ' && strlen(word) == first && memcmp(verb->name, word, first) == 0;
}

bool cli__verb_is_group(const char *word) {
    for (size_t i = 0; i < cli__verb_count; i++)
        if (is_under(cli__verbs[i], word))
            return true;
    return false;
}

enum { NAMES_MAX = 64, NAME_SIZE = 32 };

/* Collects the first words of all verbs, or the second words of the verbs in `group`. Returns the number of
 * words. */
static size_t collect_names(const char *group, char (*ret_names)[NAME_SIZE], const char **ret_pointers) {
    size_t count = 0;
    for (size_t i = 0; i < cli__verb_count; i++) {
        const struct cli_verb *verb = cli__verbs[i];
        if (group && !is_under(verb, group))
            continue;
        ts_assert(count < NAMES_MAX);
        size_t first = cli__verb_first_word(verb);
        if (group)
            snprintf(ret_names[count], NAME_SIZE, "%s", verb->name + first + 1);
        else
            snprintf(ret_names[count], NAME_SIZE, "%.*s", (int)first, verb->name);
        ret_pointers[count] = ret_names[count];
        count++;
    }
    return count;
}

/* Handles an option without a verb: only --help and --version exist. */
static enum cli_exit complain_unknown_option(const char *word) {
    static const char *const options[] = {"help", "version"};
    const char *nearest = cli__nearest(ts_bytes_of_cstring(word + strspn(word, "-")), options, 2);
    if (nearest)
        return cli__complain(CLI_EXIT_USAGE, "unknown option '%s'; did you mean '--%s'?",
                             cli__quote_text(word).text, nearest);
    return cli__complain(CLI_EXIT_USAGE, "unknown option '%s'; the verb comes first, see 'turnstone help'",
                         cli__quote_text(word).text);
}

enum cli_exit cli__verb_complain_unknown(size_t count, const char *const *words) {
    if (words[0][0] == '-')
        return complain_unknown_option(words[0]);
    if (count > 1 && cli__verb_find(1, words) && !cli__verb_is_group(words[0]))
        return cli__complain(CLI_EXIT_USAGE, "unknown verb '%s %s'; leave out '%s'", words[0],
                             cli__quote_text(words[1]).text, cli__quote_text(words[1]).text);
    const char *group = cli__verb_is_group(words[0]) ? words[0] : NULL;
    if (group && (count < 2 || words[1][0] == '-'))
        return cli__complain(CLI_EXIT_USAGE, "'%s' needs a second word; 'turnstone help %s' lists them",
                             group, group);

    char names[NAMES_MAX][NAME_SIZE];
    const char *pointers[NAMES_MAX];
    size_t candidates = collect_names(group, names, pointers);
    const char *word = group ? words[1] : words[0];
    ts_assert(word != NULL);
    struct ts_bytes wrong = ts_bytes_of_cstring(word);
    const char *nearest = cli__nearest(wrong, pointers, candidates);
    const char *before = group ? group : "";
    const char *space = group ? " " : "";
    if (nearest)
        return cli__complain(CLI_EXIT_USAGE, "unknown verb '%s%s%s'; did you mean '%s%s%s'?", before, space,
                             cli__quote(wrong).text, before, space, nearest);
    return cli__complain(CLI_EXIT_USAGE, "unknown verb '%s%s%s'; 'turnstone help%s%s' lists them", before,
                         space, cli__quote(wrong).text, space, before);
}
