/*
 * Errors as text. The rows of fields_of() decide which fields may be shown. The debug text and the display
 * text are made from these fields; the display text also has a sentence, and the store's message for
 * ResourceExhausted.
 *
 *     OpIdConflict         payload hashes <redacted> in debug, omitted in display
 *     AlreadyLeased        the owner <redacted> in both
 *     CursorRegression,    key bytes as [N bytes] or Some([N bytes])
 *     CursorOutOfBounds
 *     TenantMismatch       the caller's tenant only
 */
#include "coord/core/error.h"

#include "base/assert.h"
#include "base/redact.h"
#include "text.h"

#include <inttypes.h>
#include <stdio.h>

struct fields {
    struct ts_error_field *list;
    size_t count;
};

static struct ts_error_field *add(struct fields *fields, const char *name, enum ts_error_field_kind kind) {
    ts_assert(fields->count < TS_ERROR_FIELDS_MAX);
    struct ts_error_field *field = &fields->list[fields->count++];
    field->name = name;
    field->kind = kind;
    field->number = 0;
    field->text[0] = '\0';
    return field;
}

static void add_number(struct fields *fields, const char *name, uint64_t number) {
    add(fields, name, TS_FIELD_NUMBER)->number = number;
}

static void add_len(struct fields *fields, const char *name, size_t len) {
    add(fields, name, TS_FIELD_LEN)->number = len;
}

static void add_optional_len(struct fields *fields, const char *name, struct ts_optional_len len) {
    add(fields, name, len.is_some ? TS_FIELD_SOME_LEN : TS_FIELD_NONE)->number = len.len;
}

static void add_name(struct fields *fields, enum ts_error_field_kind kind, const char *name,
                     const char *text) {
    snprintf(add(fields, name, kind)->text, TS_ERROR_FIELD_TEXT, "%s", text);
}

static void add_shard(struct fields *fields, struct ts_shard_key shard) {
    add_number(fields, "run", shard.run.v);
    add_number(fields, "shard", shard.shard.v);
}

static void add_limit(struct fields *fields, const struct ts_limit_detail *limit) {
    add_number(fields, "current", limit->current);
    add_number(fields, "additional", limit->additional);
    add_number(fields, "max", limit->max);
}

static void add_scoped_limit(struct fields *fields, const struct ts_limit_detail *limit) {
    add_limit(fields, limit);
    add_name(fields, TS_FIELD_NAME, "scope", ts_limit_scope_name(limit->scope));
}

/* ---- which fields each variant has ---- */

static void no_fields(struct fields *fields, const struct ts_coord_detail *d) {
    (void)fields;
    (void)d;
}

static void shard_fields(struct fields *fields, const struct ts_coord_detail *d) {
    add_shard(fields, d->shard);
}

static void run_fields(struct fields *fields, const struct ts_coord_detail *d) {
    add_number(fields, "run", d->shard.run.v);
}

static void tenant_fields(struct fields *fields, const struct ts_coord_detail *d) {
    char shown[TS_ERROR_FIELD_TEXT];
    ts_text_escape(ts_tenant_id_text(&d->expected_tenant), shown, sizeof shown);
    add_name(fields, TS_FIELD_TEXT, "expected", shown);
}

static void fence_fields(struct fields *fields, const struct ts_coord_detail *d) {
    add_number(fields, "presented", d->presented.v);
    add_number(fields, "current", d->current.v);
}

static void expiry_fields(struct fields *fields, const struct ts_coord_detail *d) {
    add_number(fields, "deadline", d->deadline.ms);
    add_number(fields, "now", d->now.ms);
}

static void shard_status_fields(struct fields *fields, const struct ts_coord_detail *d) {
    add_name(fields, TS_FIELD_NAME, "status", ts_shard_status_name(d->shard_status));
}

static void terminal_shard_fields(struct fields *fields, const struct ts_coord_detail *d) {
    add_shard(fields, d->shard);
    shard_status_fields(fields, d);
}

static void run_status_fields(struct fields *fields, const struct ts_coord_detail *d) {
    add_name(fields, TS_FIELD_NAME, "status", ts_run_status_name(d->run_status));
}

static void wrong_status_fields(struct fields *fields, const struct ts_coord_detail *d) {
    run_status_fields(fields, d);
    if (d->has_target)
        add_name(fields, TS_FIELD_NAME, "target", ts_run_status_name(d->target_status));
}

static void op_id_fields(struct fields *fields, const struct ts_coord_detail *d) {
    add_number(fields, "op_id", d->op_id.v);
    add(fields, "expected_hash", TS_FIELD_REDACTED);
    add(fields, "actual_hash", TS_FIELD_REDACTED);
}

static void regression_fields(struct fields *fields, const struct ts_coord_detail *d) {
    add_optional_len(fields, "old_key", d->old_key);
    add_optional_len(fields, "new_key", d->new_key);
}

static void out_of_bounds_fields(struct fields *fields, const struct ts_coord_detail *d) {
    add_len(fields, "last_key", d->out_of_bounds.last_key);
    add_len(fields, "spec_start", d->out_of_bounds.spec_start);
    add_len(fields, "spec_end", d->out_of_bounds.spec_end);
}

static void size_fields(struct fields *fields, const struct ts_coord_detail *d) {
    add_number(fields, "size", d->size);
    add_number(fields, "max", d->max);
}

static void leased_fields(struct fields *fields, const struct ts_coord_detail *d) {
    add(fields, "current_owner", TS_FIELD_REDACTED);
    add_number(fields, "lease_deadline", d->deadline.ms);
}

static void resource_fields(struct fields *fields, const struct ts_coord_detail *d) {
    add_name(fields, TS_FIELD_TEXT, "resource", d->resource);
}

static void infra_fields(struct fields *fields, const struct ts_coord_detail *d) {
    char shown[TS_ERROR_FIELD_TEXT];
    add_name(fields, TS_FIELD_NAME, "kind", ts_infra_kind_name(d->infra.kind));
    ts_text_escape(ts_bytes_of_cstring(d->infra.text), shown, sizeof shown);
    add_name(fields, TS_FIELD_TEXT, "cause", shown);
}

static void limit_fields(struct fields *fields, const struct ts_coord_detail *d) {
    add_scoped_limit(fields, &d->limit);
}

static void none_available_fields(struct fields *fields, const struct ts_coord_detail *d) {
    add(fields, "earliest_deadline", d->has_deadline ? TS_FIELD_SOME : TS_FIELD_NONE)->number =
        d->deadline.ms;
    if (d->other_pins > 0)
        add_number(fields, "other_pins", d->other_pins);
}

static void throttled_fields(struct fields *fields, const struct ts_coord_detail *d) {
    add_number(fields, "retry_after", d->retry_after.ms);
}

static void split_fields(struct fields *fields, const struct ts_coord_detail *d) {
    const struct ts_split_detail *split = &d->split;
    add_name(fields, TS_FIELD_VARIANT, "reason", ts_split_validation_error_name(split->error));
    switch (split->error) {
    case TS_SPLIT_FAULT_OK:
    case TS_SPLIT_FAULT_NO_CHILDREN:
    case TS_SPLIT_FAULT_SINGLE_CHILD:
    case TS_SPLIT_FAULT_PARENT_CURSOR_OUT_OF_BOUNDS:
        return;
    case TS_SPLIT_FAULT_START_MISMATCH:
    case TS_SPLIT_FAULT_END_MISMATCH:
    case TS_SPLIT_FAULT_BOUNDARY_MISMATCH:
    case TS_SPLIT_FAULT_INVERTED_CHILD:
    case TS_SPLIT_FAULT_OVERLAPPING_CHILD:
    case TS_SPLIT_FAULT_DERIVED_ID_COLLISION:
    case TS_SPLIT_FAULT_INVALID_CHILD_SPEC:
        add_number(fields, "child", split->child);
        return;
    case TS_SPLIT_FAULT_SPAWN_LIMIT_EXCEEDED:
        add_limit(fields, &split->limit);
        return;
    case TS_SPLIT_FAULT_SHARD_LIMIT_EXCEEDED:
        add_scoped_limit(fields, &split->limit);
        return;
    }
    ts_unreachable("every split error has its fields");
}

static void manifest_fields(struct fields *fields, const struct ts_coord_detail *d) {
    const struct ts_manifest_detail *manifest = &d->manifest;
    add_name(fields, TS_FIELD_VARIANT, "reason", ts_manifest_validation_error_name(manifest->error));
    switch (manifest->error) {
    case TS_MANIFEST_FAULT_OK:
    case TS_MANIFEST_FAULT_EMPTY:
        return;
    case TS_MANIFEST_FAULT_TOO_MANY_SHARDS:
        add_limit(fields, &manifest->limit);
        return;
    case TS_MANIFEST_FAULT_DUPLICATE_IDS:
    case TS_MANIFEST_FAULT_OVERLAPPING_RANGES:
    case TS_MANIFEST_FAULT_UNBOUNDED_RANGE:
        add_number(fields, "entry", manifest->entry);
        add_number(fields, "other", manifest->other);
        return;
    case TS_MANIFEST_FAULT_INVALID_SPEC:
    case TS_MANIFEST_FAULT_CURSOR_OUT_OF_BOUNDS:
    case TS_MANIFEST_FAULT_CURSOR_KEY_TOO_LARGE:
        add_number(fields, "entry", manifest->entry);
        return;
    }
    ts_unreachable("every manifest error has its fields");
}

static void config_fields(struct fields *fields, const struct ts_coord_detail *d) {
    const struct ts_run_config_detail *config = &d->config;
    add_name(fields, TS_FIELD_VARIANT, "reason", ts_run_config_error_name(config->error));
    add_number(fields, "value", config->value);
    add_number(fields, "min", config->min);
    add_number(fields, "max", config->max);
}

static void nested_fields(struct fields *fields, const struct ts_coord_detail *d);

/* One row for each variant: a new variant does not compile without its row. */
#define FIELDS_SHARD_NOT_FOUND        shard_fields
#define FIELDS_TENANT_MISMATCH        tenant_fields
#define FIELDS_STALE_FENCE            fence_fields
#define FIELDS_LEASE_EXPIRED          expiry_fields
#define FIELDS_SHARD_TERMINAL         terminal_shard_fields
#define FIELDS_OP_ID_CONFLICT         op_id_fields
#define FIELDS_CURSOR_REGRESSION      regression_fields
#define FIELDS_CURSOR_OUT_OF_BOUNDS   out_of_bounds_fields
#define FIELDS_CURSOR_KEY_TOO_LARGE   size_fields
#define FIELDS_CURSOR_TOKEN_TOO_LARGE size_fields
#define FIELDS_SPLIT_INVALID          split_fields
#define FIELDS_CHECKPOINT_MISSING_KEY no_fields
#define FIELDS_ALREADY_LEASED         leased_fields
#define FIELDS_RESOURCE_EXHAUSTED     resource_fields
#define FIELDS_BACKEND_ERROR          infra_fields
#define FIELDS_INVALID_CONFIG         config_fields
#define FIELDS_RUN_ALREADY_EXISTS     run_fields
#define FIELDS_REGISTER_SHARDS_FAILED nested_fields
#define FIELDS_GET_RUN_FAILED         nested_fields
#define FIELDS_CONFIG_MISMATCH        run_fields
#define FIELDS_RUN_NOT_FOUND          no_fields
#define FIELDS_WRONG_STATUS           wrong_status_fields
#define FIELDS_MANIFEST_INVALID       manifest_fields
#define FIELDS_SHARD_LIMIT_EXCEEDED   limit_fields
#define FIELDS_RUN_TERMINAL           run_status_fields
#define FIELDS_NOT_PARKED             shard_status_fields
#define FIELDS_NONE_AVAILABLE         none_available_fields
#define FIELDS_THROTTLED              throttled_fields

static void fields_of(enum ts_error_variant variant, const struct ts_coord_detail *d, struct fields *fields) {
#define ROW(suffix, ...) [TS_VARIANT_##suffix] = FIELDS_##suffix,
    static void (*const rows[])(struct fields * fields, const struct ts_coord_detail *d) = {
        [TS_VARIANT_NONE] = no_fields, TS_COORD_ERRORS(ROW) TS_OTHER_VARIANTS(ROW)};
#undef ROW
    _Static_assert(sizeof rows / sizeof rows[0] == TS_ERROR__VARIANT_END, "every variant has its row");
    ts_assert((size_t)variant < TS_ERROR__VARIANT_END);
    rows[variant](fields, d);
}

static void nested_fields(struct fields *fields, const struct ts_coord_detail *d) {
    ts_assert(d->nested != TS_VARIANT_REGISTER_SHARDS_FAILED && d->nested != TS_VARIANT_GET_RUN_FAILED);
    /* The name differs from the names of all fields of the nested variants, because formats such as JSON need
     * unique names. */
    add_name(fields, TS_FIELD_VARIANT, "inner", ts_error_variant_name(d->nested));
    fields_of(d->nested, d, fields);
}

size_t ts_error_fields(enum ts_error_variant variant, const struct ts_coord_detail *detail,
                       struct ts_error_field ret_fields[static TS_ERROR_FIELDS_MAX]) {
    struct fields fields = {ret_fields, 0};
    fields_of(variant, detail, &fields);
    return fields.count;
}

static void add_value(struct coord__text *text, const struct ts_error_field *field) {
    switch (field->kind) {
    case TS_FIELD_NUMBER:
        coord__text_add(text, "%" PRIu64, field->number);
        return;
    case TS_FIELD_NAME:
    case TS_FIELD_VARIANT:
        coord__text_add(text, "%s", field->text);
        return;
    case TS_FIELD_TEXT:
        coord__text_add(text, "\"%s\"", field->text);
        return;
    case TS_FIELD_REDACTED:
        coord__text_add(text, "%s", TS_REDACTED);
        return;
    case TS_FIELD_LEN:
        coord__text_add(text, "[%" PRIu64 " bytes]", field->number);
        return;
    case TS_FIELD_NONE:
        coord__text_add(text, "None");
        return;
    case TS_FIELD_SOME_LEN:
        coord__text_add(text, "Some([%" PRIu64 " bytes])", field->number);
        return;
    case TS_FIELD_SOME:
        coord__text_add(text, "Some(%" PRIu64 ")", field->number);
        return;
    }
    ts_unreachable("every kind of field has a form");
}

/* Writes the fields as " { name: value, name: value }". VARIANT fields at the beginning are written as
 * "(text", and the closing parentheses follow the other fields. */
static void add_debug_fields(struct coord__text *text, const struct ts_error_field *fields, size_t count) {
    size_t closing = 0;
    for (; count > 0 && fields->kind == TS_FIELD_VARIANT; fields++, count--, closing++)
        coord__text_add(text, "(%s", fields->text);
    for (size_t i = 0; i < count; i++) {
        coord__text_add(text, "%s%s: ", i == 0 ? " { " : ", ", fields[i].name);
        add_value(text, &fields[i]);
    }
    if (count > 0)
        coord__text_add(text, " }");
    while (closing-- > 0)
        coord__text_add(text, ")");
}

size_t ts_error_debug(enum ts_error_variant variant, const struct ts_coord_detail *detail, char *ret_text,
                      size_t size) {
    struct coord__text text = coord__text_in(ret_text, size);
    struct ts_error_field fields[TS_ERROR_FIELDS_MAX];
    size_t count = ts_error_fields(variant, detail, fields);
    coord__text_add(&text, "%s", ts_error_variant_name(variant));
    add_debug_fields(&text, fields, count);
    return text.len;
}

static const char *sentence_of(enum ts_error_variant variant) {
    switch (variant) {
    case TS_VARIANT_NONE:
        return "ok";
    case TS_VARIANT_SHARD_NOT_FOUND:
        return "shard not found";
    case TS_VARIANT_TENANT_MISMATCH:
        return "the record does not belong to this tenant";
    case TS_VARIANT_STALE_FENCE:
        return "stale fence: the shard has been acquired since; stop work on it";
    case TS_VARIANT_LEASE_EXPIRED:
        return "the lease has expired; acquire the shard again";
    case TS_VARIANT_SHARD_TERMINAL:
        return "the shard is finished; stop work on it";
    case TS_VARIANT_OP_ID_CONFLICT:
        return "the operation id was used before with other parameters; use a new one";
    case TS_VARIANT_CURSOR_REGRESSION:
        return "the cursor would go back";
    case TS_VARIANT_CURSOR_OUT_OF_BOUNDS:
        return "the cursor is outside the shard's range";
    case TS_VARIANT_CURSOR_KEY_TOO_LARGE:
        return "the cursor's key is too large";
    case TS_VARIANT_CURSOR_TOKEN_TOO_LARGE:
        return "the cursor's token is too large";
    case TS_VARIANT_SPLIT_INVALID:
        return "the split is not valid";
    case TS_VARIANT_CHECKPOINT_MISSING_KEY:
        return "a checkpoint needs a key";
    case TS_VARIANT_ALREADY_LEASED:
        return "the shard is leased; wait until the lease ends";
    case TS_VARIANT_RESOURCE_EXHAUSTED:
        return "no room";
    case TS_VARIANT_BACKEND_ERROR:
        return "the store failed";
    case TS_VARIANT_INVALID_CONFIG:
        return "the run's configuration is not valid";
    case TS_VARIANT_RUN_ALREADY_EXISTS:
        return "the run exists already";
    case TS_VARIANT_REGISTER_SHARDS_FAILED:
        return "the run's shards were not registered";
    case TS_VARIANT_GET_RUN_FAILED:
        return "the run could not be read";
    case TS_VARIANT_CONFIG_MISMATCH:
        return "the run exists with another configuration";
    case TS_VARIANT_RUN_NOT_FOUND:
        return "run not found";
    case TS_VARIANT_WRONG_STATUS:
        return "the run's status does not allow it";
    case TS_VARIANT_MANIFEST_INVALID:
        return "the list of shards is not valid";
    case TS_VARIANT_SHARD_LIMIT_EXCEEDED:
        return "too many shards; complete finished runs, whose shards count until then, or make fewer "
               "shards";
    case TS_VARIANT_RUN_TERMINAL:
        return "the run has ended";
    case TS_VARIANT_NOT_PARKED:
        return "the shard is not parked";
    case TS_VARIANT_NONE_AVAILABLE:
        return "no shard is available";
    case TS_VARIANT_THROTTLED:
        return "this worker claims too often; wait until the cooldown is over";
    case TS_ERROR__VARIANT_END:
        break;
    }
    ts_unreachable("every variant has a sentence");
}

/* Returns a more precise text with the remedy if the detail has enough for such a text; otherwise the text of
 * sentence_of. */
static const char *sentence_for(enum ts_error_variant variant, const struct ts_coord_detail *detail) {
    if (variant == TS_VARIANT_STALE_FENCE && detail->is_unparked)
        return "stale fence: the shard was parked and unparked since; acquire it again to work on it";
    if (variant == TS_VARIANT_STALE_FENCE && detail->is_released)
        return "stale fence: the lease was released; acquire the shard again to work on it";
    if (variant == TS_VARIANT_NONE_AVAILABLE && detail->other_pins > 0)
        return "no shard is available: the run is pinned to other rules than this worker presents; use a worker with the pinned "
               "rules";
    if (variant == TS_VARIANT_CONFIG_MISMATCH && detail->is_other_list)
        return "the run exists with another list of shards; repeat the list of the first call, or use another run or request id";
    if (variant == TS_VARIANT_WRONG_STATUS && detail->has_target && detail->target_status == TS_RUN_ACTIVE)
        return "the shards of the run are registered in several steps; repeat the command that creates the run, or cancel the run";
    /* Only delete_run returns WrongStatus for an unfinished run without a target status. */
    if (variant == TS_VARIANT_WRONG_STATUS && !detail->has_target &&
        !ts_run_status_is_terminal(detail->run_status))
        return "the run has not ended; complete, fail or cancel it first";
    return sentence_of(variant);
}

const char *ts_error_cause(enum ts_error_variant variant, const struct ts_coord_detail *detail) {
    if (variant == TS_VARIANT_REGISTER_SHARDS_FAILED || variant == TS_VARIANT_GET_RUN_FAILED)
        variant = detail->nested;
    return variant == TS_VARIANT_RESOURCE_EXHAUSTED ? detail->infra.text : "";
}

/* Omits redacted fields, except the owner of AlreadyLeased: the specification requires the redacted owner in
 * the debug text and in the display text. */
size_t ts_error_display(enum ts_error_variant variant, const struct ts_coord_detail *detail, char *ret_text,
                        size_t size) {
    struct coord__text text = coord__text_in(ret_text, size);
    struct ts_error_field fields[TS_ERROR_FIELDS_MAX];
    size_t count = ts_error_fields(variant, detail, fields);
    coord__text_add(&text, "%s", sentence_for(variant, detail));
    const char *between = " (";
    for (size_t i = 0; i < count; i++) {
        if (fields[i].kind == TS_FIELD_REDACTED && variant != TS_VARIANT_ALREADY_LEASED)
            continue;
        coord__text_add(&text, "%s%s ", between, fields[i].name);
        add_value(&text, &fields[i]);
        between = ", ";
    }
    if (between[0] == ',')
        coord__text_add(&text, ")");
    /* The store's own message: which store has no room, and the fix. */
    const char *cause = ts_error_cause(variant, detail);
    if (cause[0] != '\0')
        coord__text_add(&text, ": %s", cause);
    return text.len;
}
