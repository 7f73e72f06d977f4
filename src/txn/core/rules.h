/*
 * Rules of the protocol that tests may disable, one by one, to show that each rule is needed: some history is
 * correct with the rule and incorrect without it. Only test builds can disable rules. In other builds each
 * rule is a constant and costs nothing.
 */
#ifndef TS_TXN_CORE_RULES_H
#define TS_TXN_CORE_RULES_H

#include <stdbool.h>
#include <stdint.h>

/* X(SUFFIX, name, what happens without the rule) */
#define TXN__RULES(X)                                                                                        \
    X(READONLY, "readonly", "a coordinator settles a lost decision by reading it")                           \
    X(NOLOW, "nolow", "a resolver's abort decision does not check the low-water mark")                       \
    X(RMABORT, "rmabort", "a coordinator removes its own abort decision while it is registered")             \
    X(NOFENCE, "nofence", "the decider's batch does not check the registration")                             \
    X(RMTOMB, "rmtomb", "a process removes an abort decision without fencing its coordinator")               \
    X(C_UNCHECKED, "c-unchecked", "a coordinator's abort decision does not check its registration")          \
    X(R_UNCHECKED, "r-unchecked", "a resolver's abort decision does not check the registration")             \
    X(KEEP_BELOW, "keep-below", "a resolver leaves a promise below the mark alone")                          \
    X(NOSYNC, "nosync", "a commit decision is removed before its participants have synced")                  \
    X(NO_REREAD, "no-reread", "a resolver that has fenced does not read the decision again")                 \
    X(RESEND, "resend", "a prepare whose reply was lost is sent again")                                      \
    X(RMLOW, "rmlow", "abort decisions below the mark are removed with the commits")                         \
    X(HALF_FINISHED, "half-finished", "a sweep removes a commit that a participant has not confirmed")       \
    X(LEAVE, "leave", "a coordinator deregisters with something in progress")

#define TXN__RULE_ENUM(suffix, name, text) TXN__RULE_##suffix,
enum txn__rule { TXN__RULES(TXN__RULE_ENUM) TXN__RULE_COUNT };
#undef TXN__RULE_ENUM

/* A set of disabled rules; {0} is the protocol as designed. */
struct txn__taken {
    uint32_t rules;
};

static inline bool txn__is_taken(struct txn__taken taken, enum txn__rule rule) {
#ifdef TS_TEST_BUILD
    return (taken.rules >> (uint32_t)rule & 1) != 0;
#else
    (void)taken;
    (void)rule;
    return false;
#endif
}

#endif
