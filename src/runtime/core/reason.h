/*
 * Why a unit of work cannot continue: an error of one of three classes, or a fault of the worker itself.
 *
 *     class        meaning                                                what the worker does
 *     Retryable    the same worker may try again within the lease         tries again, bounded; then releases
 *     Permanent    useless to try again until somebody fixes the cause    parks the shard
 *     StaleOwner   the shard is no longer this worker's                   stops, and writes nothing
 *
 * A fault of the worker (a full disk, no git) belongs to no class and has its own type. The shard is then
 * released without blame, so that a faulty worker never parks a run.
 *
 * The class of an error cannot be read directly. TS_UNIT_ERROR_MATCH is the only way to distinguish the three
 * classes, and it needs an answer for each. A test such as "retryable or not" would treat a lost lease as a
 * reason to park.
 *
 * Texts and labels are literals from these tables. They never contain a part of an address, a path, a ref or a
 * message of git, so they are safe in logs, metrics and records.
 */
#ifndef TS_RUNTIME_CORE_REASON_H
#define TS_RUNTIME_CORE_REASON_H

#include "base/bytes.h"
#include "turnstone/coord_types.h"

/* X(SUFFIX, class, what follows, label, text). For a Permanent error, the third column is the reason for
 * parking. For a Retryable error, it says who is to blame when the lease is released after the last try: the
 * shard, which coordination then parks after too many attempts; or nobody, if the shard did not cause the
 * error. For a StaleOwner error it is NOTHING. */
#define TS_UNIT_REASONS(X)                                                                                   \
    X(TIMED_OUT, RETRYABLE, BLAME_SHARD, "timed_out", "the repository did not answer in time")               \
    X(UNREACHABLE, RETRYABLE, BLAME_SHARD, "unreachable", "the repository's host cannot be reached")         \
    X(BROKEN_OFF, RETRYABLE, BLAME_SHARD, "broken_off", "the transfer ended before everything had arrived")  \
    X(RATE_LIMITED, RETRYABLE, BLAME_NOBODY, "rate_limited", "the host limits the number of requests")       \
    X(UNCLASSIFIED, RETRYABLE, BLAME_SHARD, "unclassified", "git failed with an unknown message")            \
    X(REFS_MOVED, RETRYABLE, BLAME_SHARD, "refs_moved", "the refs changed repeatedly during the scan")       \
    X(MIRROR_BUSY, RETRYABLE, BLAME_NOBODY, "mirror_busy", "other processes use every mirror of the target") \
    X(MIRROR_DAMAGED, RETRYABLE, BLAME_SHARD, "mirror_damaged",                                              \
      "the mirror lacks objects; it is cloned again")                                                        \
    X(STORE_UNAVAILABLE, RETRYABLE, BLAME_NOBODY, "store_unavailable", "a store does not answer")            \
    X(STORE_BUSY, RETRYABLE, BLAME_NOBODY, "store_busy", "a store has too many requests, or locks are held") \
    X(STORE_FULL, RETRYABLE, BLAME_NOBODY, "store_full", "a store has no room")                              \
    X(NOT_FOUND, PERMANENT, PARK_NOT_FOUND, "not_found",                                                     \
      "the repository does not exist, or is hidden from this account")                                       \
    X(MOVED, PERMANENT, PARK_NOT_FOUND, "moved", "the repository has moved; submit its new address")         \
    X(SELECTION_NOT_FOUND, PERMANENT, PARK_NOT_FOUND, "selection_not_found",                                 \
      "the repository lacks a ref or commit of the selection")                                               \
    X(PERMISSION_DENIED, PERMANENT, PARK_PERMISSION_DENIED, "permission_denied",                             \
      "this account may not read the repository")                                                            \
    X(AUTHENTICATION_FAILED, PERMANENT, PARK_PERMISSION_DENIED, "authentication_failed",                     \
      "the host rejects the credentials; configure others for this host")                                    \
    X(CREDENTIALS_MISSING, PERMANENT, PARK_PERMISSION_DENIED, "credentials_missing",                         \
      "the host asks for credentials; configure them for this host")                                         \
    X(UNTRUSTED_HOST, PERMANENT, PARK_PERMISSION_DENIED, "untrusted_host",                                   \
      "the host's certificate or key is not trusted; configure it for this host")                            \
    X(UNSUPPORTED_PROTOCOL, PERMANENT, PARK_OTHER, "unsupported_protocol",                                   \
      "the protocol of the address is not allowed; allow it, or submit another address")                     \
    X(UNSUPPORTED_SELECTION, PERMANENT, PARK_OTHER, "unsupported_selection",                                 \
      "the host does not serve commits by their id; select refs instead")                                    \
    X(UNSUPPORTED_FORMAT, PERMANENT, PARK_OTHER, "unsupported_format",                                       \
      "the repository's format is not supported")                                                            \
    X(TOO_LARGE, PERMANENT, PARK_OTHER, "too_large",                                                         \
      "the repository is larger than the limit for mirrors; raise the limit")                                \
    X(NEEDS_MEMORY, PERMANENT, PARK_OTHER, "needs_memory",                                                   \
      "git needs more memory for the repository than the limit; raise the limit")                            \
    X(DAMAGED_ORIGIN, PERMANENT, PARK_POISONED, "damaged_origin",                                            \
      "the repository is damaged at its origin; repair it there")                                            \
    X(DAMAGED_RECORD, PERMANENT, PARK_POISONED, "damaged_record",                                            \
      "a record of the unit is damaged or missing; submit the target again")                                 \
    X(LEASE_ENDED, STALE_OWNER, NOTHING, "lease_ended", "the lease ended by the worker's own clock")         \
    X(LEASE_EXPIRED, STALE_OWNER, NOTHING, "lease_expired", "the store says that the lease has expired")     \
    X(FENCE_STALE, STALE_OWNER, NOTHING, "fence_stale", "the shard has another owner")                       \
    X(SHARD_ENDED, STALE_OWNER, NOTHING, "shard_ended", "the shard has ended")                               \
    X(RUN_ENDED, STALE_OWNER, NOTHING, "run_ended", "the run has ended")

#define TS_UNIT__REASON(suffix, class, follows, label, text) TS_UNIT_##suffix,
enum ts_unit_reason { TS_UNIT_REASONS(TS_UNIT__REASON) };
#undef TS_UNIT__REASON

struct ts_unit_error {
    enum ts_unit_reason reason;
    uint64_t retry_after_ms; /* the delay that the host asked for; 0: none */
};

static inline struct ts_unit_error ts_unit_error_of(enum ts_unit_reason reason) {
    return (struct ts_unit_error){.reason = reason};
}

enum runtime__class { RUNTIME__RETRYABLE, RUNTIME__PERMANENT, RUNTIME__STALE_OWNER };

/* For TS_UNIT_ERROR_MATCH only. */
enum runtime__class runtime__class_of(struct ts_unit_error error);

/* Selects one of three expressions of the same type by the class of the error. Only that expression is
 * evaluated:
 *
 *     return TS_UNIT_ERROR_MATCH(error, again(unit), park(unit), stop(unit)); */
#define TS_UNIT_ERROR_MATCH(error, retryable, permanent, stale_owner)                                        \
    (runtime__class_of(error) == RUNTIME__RETRYABLE   ? (retryable)                                          \
     : runtime__class_of(error) == RUNTIME__PERMANENT ? (permanent)                                          \
                                                      : (stale_owner))

/* Returns the reason for parking after a Permanent error. */
enum ts_park_reason ts_unit_error_park_reason(struct ts_unit_error error);

/* Returns the blame for a Retryable error whose tries are used up. */
enum ts_blame ts_unit_error_blame(struct ts_unit_error error);

const char *ts_unit_reason_label(enum ts_unit_reason reason); /* for metrics and logs */
const char *ts_unit_reason_text(enum ts_unit_reason reason);  /* for people */
/* Returns the text of the reason with this label; NULL: the label is from another version. */
const char *ts_unit_label_text(struct ts_bytes label);

/* ---- the worker itself ---- */

/* X(SUFFIX, label, text) */
#define TS_FLEET_WORKER_FAULTS(X)                                                                            \
    X(DISK_FULL, "disk_full", "the disk of the mirrors is full; make room, or lower the quota")              \
    X(MIRROR_FOLDER, "mirror_folder", "the folder of the mirrors cannot be written")                         \
    X(NO_MEMORY, "no_memory", "memory is used up")                                                           \
    X(NO_DESCRIPTORS, "no_descriptors", "too many files are open; raise the limit (ulimit -n)")              \
    X(NO_PROCESS, "no_process", "no process can be started")                                                 \
    X(NO_GIT, "no_git", "git cannot be run; install it, or set PATH")                                        \
    X(NO_DNS, "no_dns", "host names cannot be resolved; check the network")                                  \
    X(CREDENTIALS_FILE, "credentials_file",                                                                  \
      "the file with the credentials, or a file that it names, cannot be read")                              \
    X(STORE_REFUSED, "store_refused", "a store refuses this process; start the worker again")

#define TS_FLEET_WORKER__FAULT(suffix, label, text) TS_FLEET_WORKER_FAULT_##suffix,
enum ts_fleet_worker_fault_kind { TS_FLEET_WORKER_FAULTS(TS_FLEET_WORKER__FAULT) };
#undef TS_FLEET_WORKER__FAULT

struct ts_fleet_worker_fault {
    enum ts_fleet_worker_fault_kind kind;
};

const char *ts_fleet_worker_fault_label(struct ts_fleet_worker_fault fault);
const char *ts_fleet_worker_fault_text(struct ts_fleet_worker_fault fault);

#endif
