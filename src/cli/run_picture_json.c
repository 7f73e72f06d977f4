/* A picture of a run as members of a JSON object. */
#include "run_picture.h"

#include "base/hex.h"
#include "os/out_json.h"

#include <string.h>

static struct ts_bytes watermark_of(const struct ts_run_progress *progress) {
    return ts_fixed_buf_read(&progress->watermark);
}

static void put_config(struct cli_coord *coord, const struct ts_run_config *config) {
    cli__member_number(coord, "lease_ms", config->lease_duration_ms);
    cli__member_number(coord, "attempts", config->attempts);
    cli__member_number(coord, "cooldown_ms", config->cooldown_ms);
    cli__member_text(coord, "semantics", ts_cursor_semantics_name(config->semantics));
    cli__member_number(coord, "shard_max", config->shard_max);
    if (ts_pin_is_set(&config->pin)) {
        char pin[2 * TS_PIN_LEN + 1];
        *ts_hex_encode(ts_bytes_of(config->pin.b, sizeof config->pin.b), pin) = '\0';
        cli__member_text(coord, "pin", pin);
    }
}

static void put_ids(struct cli_coord *coord, const char *name, const struct ts_shard_id *ids, size_t count) {
    cli__member(coord, name);
    ts_out_put_char(coord->out, '[');
    for (size_t i = 0; i < count; i++) {
        ts_out_put_cstring(coord->out, ts_json_separator(i, ","));
        ts_out_put_u64(coord->out, ids[i].v);
    }
    ts_out_put_char(coord->out, ']');
}

static void member_bytes(struct cli_coord *coord, const char *name, struct ts_bytes text) {
    cli__member(coord, name);
    ts_out_put_json(coord->out, text);
}

static void put_log(struct cli_coord *coord, const struct ts_fleet_decisions *decisions) {
    cli__member(coord, "log");
    ts_out_put_char(coord->out, '[');
    for (size_t i = 0; i < decisions->count; i++) {
        const struct ts_fleet_decision *decision = &decisions->list[i];
        ts_out_put_cstring(coord->out, ts_json_separator(i, ","));
        cli__object_begin(coord);
        cli__member_number(coord, "time_ms", decision->at_ms);
        cli__member_text(coord, "what", decision->is_parked ? "parked" : "released");
        member_bytes(coord, "cause", decision->reason);
        member_bytes(coord, "worker", decision->worker);
        cli__member_number(coord, "fence", decision->fence);
        ts_out_put_char(coord->out, '}');
    }
    ts_out_put_char(coord->out, ']');
}

static void put_item(struct cli_coord *coord, const struct cli_item *item, uint64_t now_ms, bool with_log) {
    cli__object_begin(coord);
    cli__member_number(coord, "shard", item->shard.v);
    if (item->is_target) {
        char target[2 * TS_TARGET_ID_LEN + 1];
        *ts_hex_encode(ts_bytes_of(item->target.bytes, sizeof item->target.bytes), target) = '\0';
        cli__member_text(coord, "target", target);
        member_bytes(coord, "address", item->address);
        cli__member_number(coord, "parts", item->parts);
    }
    cli__member_number(coord, "attempts", item->attempts);
    if (item->is_leased) {
        member_bytes(
            coord, "worker",
            ts_bytes_of(item->worker.b, strnlen((const char *)item->worker.b, sizeof item->worker.b)));
        cli__member_number(coord, "seen_ms", now_ms > item->since_ms ? now_ms - item->since_ms : 0);
        cli__member_number(coord, "left_ms", item->left_ms);
    }
    if (item->is_parked)
        cli__member_text(coord, "reason", ts_park_reason_name(item->park_reason));
    if (item->label.len > 0) {
        member_bytes(coord, "cause", item->label);
        cli__member_text(coord, "text", cli__item_reason(item));
        cli__member_number(coord, "troubles", item->troubles);
        cli__member_number(coord, "troubled_ms",
                           cli__item_troubled_ms(item, (struct ts_logical_time){now_ms}));
    }
    if (with_log && item->decisions != NULL)
        put_log(coord, item->decisions);
    ts_out_put_char(coord->out, '}');
}

static void put_items(struct cli_coord *coord, const char *name, const struct cli_items *items,
                      uint64_t now_ms, bool with_log) {
    cli__member(coord, name);
    ts_out_put_char(coord->out, '[');
    for (size_t i = 0; i < items->count; i++) {
        ts_out_put_cstring(coord->out, ts_json_separator(i, ","));
        put_item(coord, &items->list[i], now_ms, with_log);
    }
    ts_out_put_char(coord->out, ']');
    coord->members = 1; /* put_item has reset the count for its own object */
}

static void put_counts(struct cli_coord *coord, const struct cli_picture *picture) {
    const struct ts_run_progress *progress = &picture->progress;
    cli__member_number(coord, "shards", picture->total);
    cli__member_number(coord, "active", progress->counts.active);
    cli__member_number(coord, "done", progress->counts.done);
    cli__member_number(coord, "split", progress->counts.split);
    cli__member_number(coord, "parked", progress->counts.parked);
    cli__member_number(coord, "free", picture->free);
    cli__member_number(coord, "leased", progress->leased);
    cli__member_number(coord, "expired", progress->expired);
    cli__member_number(coord, "stuck", progress->struggling);
    put_ids(coord, "stuck_shards", picture->stuck, picture->stuck_count);
    cli__member_number(coord, "damaged", picture->damaged);
    put_ids(coord, "damaged_shards", picture->damaged_shards,
            picture->damaged < CLI_IDS_MAX ? (size_t)picture->damaged : CLI_IDS_MAX);
}

void cli__picture_members(struct cli_coord *coord, const struct cli_picture *picture, bool with_log) {
    const struct ts_run_progress *progress = &picture->progress;
    cli__member_number(coord, "run", picture->run.run.v);
    cli__member_number(coord, "number", picture->run.number);
    cli__member_text(coord, "status", ts_run_status_name(picture->run.status));
    cli__member_bool(coord, "with_failures", cli__picture_has_failures(picture));
    cli__member_number(coord, "registered", picture->run.registered);
    if (picture->run.announced.count > 0)
        cli__member_number(coord, "announced", picture->run.announced.count);
    cli__member_number(coord, "created_at", picture->run.created_at.ms);
    if (picture->run.ended_at.ms != 0)
        cli__member_number(coord, "ended_at", picture->run.ended_at.ms);
    put_config(coord, &picture->run.config);
    put_counts(coord, picture);
    if (progress->has_oldest_lease)
        cli__member_number(coord, "oldest_lease", progress->oldest_lease.ms);
    else
        cli__member_null(coord, "oldest_lease");
    if (progress->has_watermark)
        cli__member_key(coord, "watermark", watermark_of(progress));
    else
        cli__member_null(coord, "watermark");
    cli__member_number(coord, "workers", picture->workers);
    if (picture->is_of_targets) {
        cli__member_number(coord, "came", picture->changes.came);
        cli__member_number(coord, "went", picture->changes.went);
        cli__member_number(coord, "changed_targets", picture->changes.targets);
    }
    put_items(coord, "in_progress", &picture->busy, picture->now.ms, false);
    put_items(coord, "stuck_items", &picture->struggling, picture->now.ms, with_log);
    put_items(coord, "waiting_items", &picture->waiting, picture->now.ms, with_log);
    put_items(coord, "parked_items", &picture->parked, picture->now.ms, with_log);
}
