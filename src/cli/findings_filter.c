#include "findings_filter.h"

#include "complain.h"

#include "base/hex.h"

#include <string.h>

static bool read_id(const char *text, uint8_t ret_bytes[static TS_FLEET_FINDING_LEN]) {
    _Static_assert(TS_FLEET_FINDING_LEN == (int)TS_TARGET_ID_LEN, "both kinds of ids have one length");
    return strlen(text) == (size_t)2 * TS_FLEET_FINDING_LEN &&
           ts_hex_decode(ts_bytes_of_cstring(text), ret_bytes);
}

enum cli_exit cli__finding_id(const char *verb, const char *what, const char *text,
                              struct ts_fleet_finding *ret_finding) {
    if (read_id(text, ret_finding->bytes))
        return CLI_EXIT_DONE;
    return cli__complain(CLI_EXIT_USAGE,
                         "%s: %s '%s' is not the id of a finding; give the 32 hexadecimal digits that "
                         "'findings list' prints",
                         verb, what, cli__quote_text(text).text);
}

enum cli_exit cli__findings_filter(const char *verb, const struct cli_arguments *arguments,
                                   struct ts_findings_filter *ret_filter) {
    const char *const *values = arguments->values;
    struct ts_findings_filter filter = {
        .confidence = TS_CONFIDENCE_MEDIUM, .has_state = true, .state = TS_FLEET_FINDING_OPEN};
    if (values[FINDINGS_RULE] != NULL)
        filter.rule = ts_bytes_of_cstring(values[FINDINGS_RULE]);
    if (values[FINDINGS_RULE] != NULL && filter.rule.len == 0)
        return cli__complain(CLI_EXIT_USAGE, "%s: --rule is empty; give the id of a rule", verb);
    /* The parser has checked the values of these options, so parsing them cannot fail. */
    if (values[FINDINGS_SEVERITY] != NULL)
        (void)ts_severity_parse(ts_bytes_of_cstring(values[FINDINGS_SEVERITY]), &filter.severity);
    if (values[FINDINGS_CONFIDENCE] != NULL)
        (void)ts_confidence_parse(ts_bytes_of_cstring(values[FINDINGS_CONFIDENCE]), &filter.confidence);
    if (values[FINDINGS_STATE] != NULL)
        filter.has_state =
            ts_fleet_finding_state_parse(ts_bytes_of_cstring(values[FINDINGS_STATE]), &filter.state);
    filter.has_target = values[FINDINGS_TARGET] != NULL;
    if (filter.has_target && !read_id(values[FINDINGS_TARGET], filter.target.bytes))
        return cli__complain(CLI_EXIT_USAGE,
                             "%s: --target '%s' is not the id of a target; give the 32 hexadecimal digits "
                             "that 'turnstone targets' prints",
                             verb, cli__quote_text(values[FINDINGS_TARGET]).text);
    *ret_filter = filter;
    return CLI_EXIT_DONE;
}

struct cli_finding_shown cli__show_finding(const struct ts_fleet_finding *finding) {
    struct cli_finding_shown shown = {{0}};
    *ts_hex_encode(ts_bytes_of(finding->bytes, sizeof finding->bytes), shown.text) = '\0';
    return shown;
}

enum cli_exit cli__findings_refuse(struct cli_coord *coord, const struct ts_infra_error *error) {
    const struct ts_coord_detail detail = {.infra = *error};
    return cli__coord_refuse(coord, TS_VARIANT_BACKEND_ERROR, &detail);
}

enum cli_exit cli__findings_refuse_unknown(struct cli_coord *coord, const struct ts_fleet_finding *finding) {
    if (coord->json) {
        cli__object_begin(coord);
        cli__member_text(coord, "error", "FindingNotFound");
        cli__member_text(coord, "id", cli__show_finding(finding).text);
        cli__object_end(coord);
    }
    return cli__complain(CLI_EXIT_REFUSED, "%s: the tenant has no finding '%s'", coord->verb,
                         cli__show_finding(finding).text);
}

enum cli_exit cli__findings_check_target(struct cli_coord *coord, const struct ts_findings_filter *filter) {
    struct ts_infra_error error = {0};
    bool is_known = false;
    char id[2 * TS_TARGET_ID_LEN + 1];
    if (!filter->has_target)
        return CLI_EXIT_DONE;
    if (!ts_findings_knows_target(coord->coord, &coord->tenant, &filter->target, &is_known, &error))
        return cli__findings_refuse(coord, &error);
    if (is_known)
        return CLI_EXIT_DONE;
    *ts_hex_encode(ts_bytes_of(filter->target.bytes, TS_TARGET_ID_LEN), id) = '\0';
    if (coord->json) {
        cli__object_begin(coord);
        cli__member_text(coord, "error", "TargetNotFound");
        cli__member_text(coord, "target", id);
        cli__object_end(coord);
    }
    return cli__complain(
        CLI_EXIT_REFUSED,
        "%s: the tenant has no complete scan of the target '%s'; 'turnstone targets' with the "
        "--select of the run prints the ids",
        coord->verb, id);
}
