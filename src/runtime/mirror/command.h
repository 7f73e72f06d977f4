/*
 * How git is called: without the configuration of the user or the system, without prompts, hooks and
 * redirects, with the allowed protocols only, and within limits. Credentials are in memory that git's helper
 * reads. The address of a proxy, which may contain a password, is in the environment. Neither the credentials
 * nor this address are in the list of processes.
 *
 * Only command.c decides how git is called: edit it to make the calls stricter, or to allow more.
 */
#ifndef TS_RUNTIME_MIRROR_COMMAND_H
#define TS_RUNTIME_MIRROR_COMMAND_H

#include "runtime/mirror/access.h"
#include "runtime/mirror/mirror.h"

#include "git_run.h"

#include "os/arena.h"

enum { MIRROR__WORDS_MAX = 80, MIRROR__VARIABLES_MAX = 32 };

/* The parts of the address that decide how git is called. They borrow from the address. */
struct mirror__address {
    struct ts_bytes scheme;
    struct ts_bytes host; /* with the port, if the address has a port */
    struct ts_bytes name; /* the host's name only */
};

struct mirror__address mirror__address_split(struct ts_bytes address);

/* The parts that all calls for one request share. Zero-initialise it; release it. */
struct mirror__command {
    const char *words[MIRROR__WORDS_MAX];
    size_t word_count;
    const char *variables[MIRROR__VARIABLES_MAX];
    size_t variable_count;
    size_t shared_words;     /* number of words that every call begins with */
    size_t shared_variables; /* number of variables that every call has */
    const char *url;
    int secret_fd; /* user and password for git's helper; -1: none */
    bool has_key;  /* there is a password or key for the host */
    bool no_memory;
    struct ts_arena arena;
};

/* Prepares the parts that all calls share. On failure returns false and fills in the failure. */
bool mirror__command_init(struct mirror__command *command, const struct ts_mirrors_options *options,
                          const struct ts_mirror_request *request, struct ts_mirror_failure *ret_failure);
void mirror__command_release(struct mirror__command *command);

/* Begins a call on a repository (NULL: none), with the words of its verb; mirror__command_word adds more
 * words. */
void mirror__command_begin(struct mirror__command *command, const char *repository, const char *const *words);
void mirror__command_word(struct mirror__command *command, const char *word);

/* Returns the call. Before the caller runs it, the caller sets input, lock and limits. */
struct mirror__git mirror__command_git(struct mirror__command *command);

#endif
