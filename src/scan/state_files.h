/*
 * Names and folders of the state. Everything is opened relative to descriptors of folders, and links inside
 * the state are not followed.
 */
#ifndef TS_SCAN_STATE_FILES_H
#define TS_SCAN_STATE_FILES_H

#include "state.h"

#define SCAN_STATE_NAME_SIZE (2 + 2 * (2 * SCAN_STATE_ID_LEN + 1) + 8 + 1)
#define SCAN_STATE_ABOUT     "about"
#define SCAN_STATE_LOCK      "lock"
#define SCAN_STATE_NEW       "new"
#define SCAN_STATE_PRINT_KEY "print-key"

struct scan_state_name {
    char text[SCAN_STATE_NAME_SIZE];
};

/* Returns the name of a file of the state, up to the number if it has one: "k-RULES-", "h-RULES-JUDGING-",
 * "s-RULES-JUDGING" or "u-RULES-JUDGING". */
struct scan_state_name scan__state_name(char letter, const struct scan_use *use);
/* Returns the name of the folder of a repository. */
struct scan_state_name scan__state_folder_name(const struct scan_use *use);

/* Parses any file name of the state. Sets the rules and judging of ret_use to those of the name; ids that the
 * name does not have become zeros. Returns false for other names. */
bool scan__state_name_parse(const char *name, char *ret_letter, struct scan_use *ret_use);

/* Names in a folder, sorted; empty if the folder cannot be listed. With a prefix, only state files whose
 * names begin with the prefix. */
struct scan_state_names {
    char (*items)[SCAN_STATE_NAME_SIZE];
    size_t count;
    size_t capacity;
};
void scan__state_list(int folder, const char *prefix, struct scan_state_names *ret_names);
void scan__state_names_release(struct scan_state_names *names);

/* Opens a file for reading. On failure returns -1, with errno. */
int scan__state_open_file(int folder, const char *name);

/* Creates a folder and its parents, and opens it. On failure returns -1, with errno. */
int scan__state_make_folders(const char *path);

/* Creates a new file for writing. On failure returns -1, with errno. */
int scan__state_open_new(int folder, const char *name);

/* Replaces a file by a file with these pages, completely or not at all. Empty pages are omitted. Returns 0 or
 * an errno. */
int scan__state_replace(int folder, const char *name, const struct scan_segment_head *head,
                        const struct ts_bytes *pages, size_t count);

/* Reads the key of prints of a state folder. Returns false if the folder has no key. */
bool scan__state_print_key_read(const char *state_folder, struct ts_siphash_key *ret_key);
/* Stores the key if the folder has no key yet. `all` is the folder of all repositories. Returns 0 or an
 * errno. */
int scan__state_print_key_keep(int all, const struct ts_siphash_key *key);

/* The content of a file "about". */
struct scan_state_about {
    uint8_t repo[SCAN_STATE_ID_LEN];
    uint8_t salt[SCAN_SALT_LEN];
    char path[4096];
};
/* Reads the file "about" in a folder. Returns false if the file is not valid. */
bool scan__state_about_read(int folder, struct scan_state_about *ret_about);

#endif
