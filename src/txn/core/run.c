#include "txn/core/run.h"

#include "base/assert.h"

enum ts_call_kind txn__wish_call(enum txn__wish wish) {
    switch (wish) {
    case TXN__WISH_APPLY:
    case TXN__WISH_DECIDE:
    case TXN__WISH_REFUSE:
    case TXN__WISH_RECORD:
    case TXN__WISH_FENCE:
    case TXN__WISH_FORGET:
        return TS_CALL_APPLY;
    case TXN__WISH_PREPARE:
        return TS_CALL_PREPARE;
    case TXN__WISH_LOOK:
        return TS_CALL_READ;
    case TXN__WISH_COMMIT:
        return TS_CALL_COMMIT;
    case TXN__WISH_ABORT:
        return TS_CALL_ABORT;
    case TXN__WISH_NONE:
        break;
    }
    ts_unreachable("a wish that can be sent");
}

/* Returns true if this result means that the store has not carried out the call, and never will. */
static bool nothing_happened(enum ts_store_result result) {
    const enum ts_store_fault fault = ts_store_result_meaning(result)->fault;
    /* The existing promise may belong to this call, if an earlier reply was lost. */
    return fault != TS_STORE_FAULT_NONE && fault != TS_STORE_FAULT_UNKNOWN &&
           result != TS_STORE_PROMISE_EXISTS;
}

static void init(struct txn__run *run, struct txn__member *members, size_t count, size_t decider,
                 const struct txn__run_options *options) {
    ts_assert(count > 0 && decider < count);
    *run = (struct txn__run){
        .options = *options,
        .members = members,
        .count = count,
        .decider = decider,
        .failed_member = SIZE_MAX,
        .failed_op = SIZE_MAX,
        .outcome = TS_TXN_UNKNOWN,
    };
}

/* Returns the participant with the highest place that was not asked yet; SIZE_MAX when all were asked. */
static size_t next_in_order(const struct txn__run *run) {
    size_t next = SIZE_MAX;
    for (size_t i = 0; i < run->count; i++) {
        const struct txn__member *member = &run->members[i];
        if (i == run->decider || member->asked)
            continue;
        ts_assert(member->place > run->members[run->decider].place);
        if (next == SIZE_MAX || member->place > run->members[next].place)
            next = i;
    }
    return next;
}

void txn__run_init(struct txn__run *run, struct txn__member *members, size_t count, size_t decider,
                   const struct txn__run_options *options) {
    init(run, members, count, decider, options);
    if (count == 1) {
        run->state = TXN__RUN_APPLYING;
        members[0].wish = TXN__WISH_APPLY;
        return;
    }
    run->state = TXN__RUN_PREPARING;
    if (options->in_order) {
        members[next_in_order(run)].wish = TXN__WISH_PREPARE;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (i != decider)
            members[i].wish = TXN__WISH_PREPARE;
    }
}

void txn__run_init_settle(struct txn__run *run, struct txn__member *members, size_t count, size_t decider,
                          const struct txn__run_options *options) {
    init(run, members, count, decider, options);
    run->state = TXN__RUN_LOOKING;
    for (size_t i = 0; i < count; i++)
        members[i].promised = i != decider;
    members[decider].wish = TXN__WISH_LOOK;
}

bool txn__run_is_decided(const struct txn__run *run) {
    return run->state == TXN__RUN_COMMITTING || run->state == TXN__RUN_DONE;
}

size_t txn__run_next(struct txn__run *run, enum txn__wish *ret_wish) {
    run->pause = false;
    for (size_t i = 0; i < run->count; i++) {
        struct txn__member *member = &run->members[i];
        if (member->wish == TXN__WISH_NONE || member->flying != TXN__WISH_NONE)
            continue;
        *ret_wish = member->flying = member->wish;
        member->wish = TXN__WISH_NONE;
        if (member->flying == TXN__WISH_PREPARE)
            member->asked = true;
        run->flying++;
        return i;
    }
    return SIZE_MAX;
}

static bool is_local(const struct txn__run *run) {
    return run->count == 1;
}

/* Records why the transaction fails. Only the first failure counts, because the caller sees that one. */
static void blame(struct txn__run *run, enum txn__why why, size_t member,
                  const struct ts_store_error *error) {
    if (run->why != TXN__WHY_NONE)
        return;
    run->why = why;
    run->failed_member = member;
    if (error != NULL) {
        run->reason = error->result;
        run->failed_op = error->op;
    }
}

static bool any_wish(const struct txn__run *run) {
    for (size_t i = 0; i < run->count; i++) {
        if (run->members[i].wish != TXN__WISH_NONE)
            return true;
    }
    return false;
}

/* Ends COMMITTING or ABORTING when every call has an answer, even a failure. */
static void finish_when_quiet(struct txn__run *run) {
    if (run->flying != 0 || any_wish(run))
        return;
    if (run->state == TXN__RUN_COMMITTING) {
        run->outcome = TS_TXN_COMMITTED;
        for (size_t i = 0; i < run->count; i++) {
            if (run->members[i].promised)
                run->outcome = TS_TXN_COMMITTED_PENDING;
        }
    }
    run->state = TXN__RUN_DONE;
}

static void drop_wishes(struct txn__run *run) {
    for (size_t i = 0; i < run->count; i++)
        run->members[i].wish = TXN__WISH_NONE;
}

static void enter_committing(struct txn__run *run) {
    run->state = TXN__RUN_COMMITTING;
    run->why = TXN__WHY_NONE;
    run->reason = TS_STORE_OK;
    run->failed_member = run->failed_op = SIZE_MAX;
    drop_wishes(run);
    if (!run->options.degrade) {
        for (size_t i = 0; i < run->count; i++) {
            if (run->members[i].promised)
                run->members[i].wish = TXN__WISH_COMMIT;
        }
    }
    finish_when_quiet(run);
}

/* Begins to abort. Does not wait for a prepare in progress, because its reply leads to an abort anyway. */
static void enter_aborting(struct txn__run *run) {
    run->state = TXN__RUN_ABORTING;
    run->outcome = TS_TXN_ABORTED;
    drop_wishes(run);
    for (size_t i = 0; i < run->count; i++) {
        if (run->members[i].promised && run->members[i].flying == TXN__WISH_NONE)
            run->members[i].wish = TXN__WISH_ABORT;
    }
    if (run->options.record && !run->recorded)
        run->members[run->decider].wish = TXN__WISH_RECORD;
    finish_when_quiet(run);
}

static void end_unknown(struct txn__run *run, enum txn__why why) {
    run->why = why;
    run->outcome = TS_TXN_UNKNOWN;
    drop_wishes(run);
    run->state = TXN__RUN_DONE;
}

static void look_again(struct txn__run *run, bool pause) {
    if (run->given_up) {
        end_unknown(run, TXN__WHY_GIVEN_UP);
        return;
    }
    run->state = TXN__RUN_LOOKING;
    run->pause = pause;
    run->members[run->decider].wish = TXN__WISH_LOOK;
}

static void prepare_replied(struct txn__run *run, size_t index, const struct ts_store_error *error) {
    struct txn__member *member = &run->members[index];
    member->promised = !nothing_happened(error->result);
    if (run->state == TXN__RUN_ABORTING) {
        if (member->promised)
            member->wish = TXN__WISH_ABORT;
        finish_when_quiet(run);
        return;
    }
    if (error->result == TS_STORE_UNKNOWN && txn__is_taken(run->options.taken, TXN__RULE_RESEND)) {
        member->wish = TXN__WISH_PREPARE;
        return;
    }
    if (error->result != TS_STORE_OK) {
        blame(run, TXN__WHY_STORE, index, error);
        enter_aborting(run);
        return;
    }
    size_t next = run->options.in_order ? next_in_order(run) : SIZE_MAX;
    if (next != SIZE_MAX) {
        run->members[next].wish = TXN__WISH_PREPARE;
        return;
    }
    for (size_t i = 0; i < run->count; i++) {
        const struct txn__member *other = &run->members[i];
        if (i != run->decider &&
            (!other->promised || other->flying != TXN__WISH_NONE || other->wish != TXN__WISH_NONE))
            return;
    }
    run->state = TXN__RUN_DECIDING;
    run->members[run->decider].wish = TXN__WISH_DECIDE;
}

/* Returns whether a check failed and the check belongs to the protocol, or may belong to it. */
static bool failed_own_check(const struct txn__run *run, const struct ts_store_error *error) {
    return error->result == TS_STORE_CHECK_FAILED &&
           (error->op == SIZE_MAX || error->op >= run->own_ops_from);
}

static void decide_replied(struct txn__run *run, const struct ts_store_error *error) {
    if (error->result == TS_STORE_OK) {
        run->recorded = true;
        enter_committing(run);
    } else if (failed_own_check(run, error)) {
        /* The coordinator was fenced, or a resolver was faster. The decider's records show which. */
        look_again(run, false);
    } else if (nothing_happened(error->result)) {
        blame(run, TXN__WHY_STORE, run->decider, error);
        enter_aborting(run);
    } else {
        blame(run, TXN__WHY_LOST, run->decider, error);
        look_again(run, false);
    }
}

static void looked_global(struct txn__run *run, const struct txn__look *look) {
    bool readonly = txn__is_taken(run->options.taken, TXN__RULE_READONLY);
    bool unchecked = txn__is_taken(run->options.taken, TXN__RULE_C_UNCHECKED);
    if (look->decision == TXN__DECISION_COMMIT) {
        run->recorded = true;
        enter_committing(run);
    } else if (look->decision == TXN__DECISION_ABORT) {
        run->why = TXN__WHY_RESOLVER;
        enter_aborting(run);
    } else if (readonly) {
        enter_aborting(run);
    } else if (look->registration.state != TXN__REGISTERED && !unchecked) {
        end_unknown(run, TXN__WHY_FENCED);
    } else {
        run->state = TXN__RUN_REFUSING;
        run->members[run->decider].wish = TXN__WISH_REFUSE;
    }
}

static void looked_local(struct txn__run *run, const struct txn__look *look) {
    switch (look->outcome) {
    case TXN__RECORDED_COMMITTED:
        enter_committing(run);
        return;
    case TXN__RECORDED_ABORTED:
        run->recorded = true;
        enter_aborting(run);
        return;
    case TXN__RECORDED_NONE:
        run->state = TXN__RUN_REFUSING;
        run->members[run->decider].wish = TXN__WISH_REFUSE;
        return;
    }
}

static void look_replied(struct txn__run *run, const struct ts_store_error *error,
                         const struct txn__look *look) {
    if (error->result != TS_STORE_OK || look->damaged)
        look_again(run, true);
    else if (is_local(run))
        looked_local(run, look);
    else
        looked_global(run, look);
}

static void refuse_replied(struct txn__run *run, const struct ts_store_error *error) {
    if (error->result == TS_STORE_OK) {
        run->recorded = true;
        enter_aborting(run);
        return;
    }
    look_again(run, error->result != TS_STORE_CHECK_FAILED);
}

static void apply_replied(struct txn__run *run, const struct ts_store_error *error) {
    bool taken_already = run->options.record && failed_own_check(run, error);
    if (error->result == TS_STORE_OK) {
        enter_committing(run);
    } else if (nothing_happened(error->result) && !taken_already) {
        blame(run, TXN__WHY_STORE, 0, error);
        enter_aborting(run);
    } else if (run->options.record) {
        blame(run, TXN__WHY_LOST, 0, error);
        look_again(run, false);
    } else {
        blame(run, TXN__WHY_LOST, 0, error);
        end_unknown(run, TXN__WHY_LOST);
    }
}

/* Takes the reply to a COMMIT or ABORT. If the request did not reach the store, the care thread or a resolver
 * sends it again later: the decision never changes. */
static void finish_replied(struct txn__run *run, size_t index, const struct ts_store_error *error) {
    if (error->result == TS_STORE_OK || error->result == TS_STORE_NO_SUCH_PROMISE)
        run->members[index].promised = false;
    if (run->state == TXN__RUN_ABORTING && txn__is_taken(run->options.taken, TXN__RULE_RMABORT) &&
        run->recorded && !is_local(run))
        run->members[run->decider].wish = TXN__WISH_FORGET;
    finish_when_quiet(run);
}

void txn__run_reply(struct txn__run *run, size_t member, const struct ts_store_error *error,
                    const struct txn__look *look) {
    enum txn__wish sent = run->members[member].flying;
    run->members[member].flying = TXN__WISH_NONE;
    ts_assert(run->flying > 0);
    run->flying--;
    switch (sent) {
    case TXN__WISH_APPLY:
        apply_replied(run, error);
        return;
    case TXN__WISH_PREPARE:
        prepare_replied(run, member, error);
        return;
    case TXN__WISH_DECIDE:
        decide_replied(run, error);
        return;
    case TXN__WISH_LOOK:
        look_replied(run, error, look);
        return;
    case TXN__WISH_REFUSE:
        refuse_replied(run, error);
        return;
    case TXN__WISH_COMMIT:
    case TXN__WISH_ABORT:
        finish_replied(run, member, error);
        return;
    case TXN__WISH_RECORD:
        run->recorded = true;
        finish_when_quiet(run);
        return;
    case TXN__WISH_FORGET:
        finish_when_quiet(run);
        return;
    case TXN__WISH_NONE:
    case TXN__WISH_FENCE:
        break;
    }
    ts_unreachable("a reply to something that a coordinator sends");
}

void txn__run_give_up(struct txn__run *run) {
    run->given_up = true;
    switch (run->state) {
    case TXN__RUN_PREPARING:
        blame(run, TXN__WHY_GIVEN_UP, SIZE_MAX, NULL);
        enter_aborting(run);
        return;
    case TXN__RUN_LOOKING:
        if (run->flying == 0)
            end_unknown(run, TXN__WHY_GIVEN_UP);
        return;
    case TXN__RUN_COMMITTING:
    case TXN__RUN_ABORTING:
        drop_wishes(run);
        finish_when_quiet(run);
        return;
    case TXN__RUN_APPLYING:
    case TXN__RUN_DECIDING:
    case TXN__RUN_REFUSING:
    case TXN__RUN_DONE:
        return;
    }
}
