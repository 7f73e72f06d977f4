/*
 * The state that scans of one repository keep for later scans, in the user's state folder.
 *
 *     FOLDER/scan/print-key      the key of the prints of secrets, for all repositories
 *     FOLDER/scan/ID/            the folder of the repository with this id
 *         lock                   held (flock) by the scan that adds to it
 *         about                  the salt of its evidence, and the path of the repository
 *         k-RULES-NUMBER         known objects
 *         h-RULES-JUDGING-NUMBER contents with hits
 *         s-RULES-JUDGING        the result of a whole scan
 *         u-RULES-JUDGING        empty; its file time is the time of the last scan that added something
 *
 * The state is a cache. A failure to read or write costs time and prints a warning, but never loses a finding
 * or ends the scan. After a failure nothing more is written, and everything read before stays valid. Only the
 * process that made a file adds to it, and files are replaced only as a whole, by a rename. So reading needs
 * no lock.
 */
#ifndef TS_SCAN_STATE_H
#define TS_SCAN_STATE_H

#include "segment.h"

#include "base/siphash.h"

/* Identifies the repository, rules and judging that files belong to. */
struct scan_use {
    uint8_t repo[SCAN_STATE_ID_LEN];
    uint8_t rules[SCAN_STATE_ID_LEN];
    uint8_t judging[SCAN_STATE_ID_LEN];
};

struct scan_state;

struct scan_state_place {
    const char *folder;
    struct scan_use use;
    struct ts_siphash_key print_key; /* stored if the folder has no key */
    unsigned files_left;             /* descriptors for the scan itself; with fewer, the state is not used */
};

/* Opens the state. Returns NULL if the state cannot be used. The place must stay valid as long as the state
 * is open. */
struct scan_state *scan__state_open(const struct scan_state_place *place, struct scan_state_warning *warning);
void scan__state_close(struct scan_state *state);

/* Reads the first page of the snapshot with this fingerprint; NULL means any snapshot. The page is borrowed
 * from the segment, which the caller closes. Returns false if there is no such snapshot; then there is
 * nothing to close. */
bool scan__state_snapshot(struct scan_state *state, const uint8_t *fingerprint,
                          struct scan_segment *ret_segment, struct ts_bytes *ret_page);

/* Tries to take the lock. A scan that reads objects calls it before the following functions. Returns false if
 * nothing is known and nothing can be kept. */
bool scan__state_begin(struct scan_state *state);

/* Returns the key of evidence, of SCAN_SALT_LEN bytes. */
const uint8_t *scan__state_salt(const struct scan_state *state);

/* Visits pages of KNOWN or HITS, the latest files first. The callback returns false for an invalid page; then
 * the rest of the file is skipped. */
typedef bool scan_state_page(void *ctx, struct ts_bytes page);
void scan__state_each(struct scan_state *state, enum scan_segment_kind kind, scan_state_page *take,
                      void *ctx);

/* Adds a page of KNOWN or HITS. A failure is reported as the warning; after a failure the function does
 * nothing. */
void scan__state_add(struct scan_state *state, enum scan_segment_kind kind, struct ts_bytes page);
/* Stores a snapshot. `past` may be empty: then the snapshot has no second page. */
void scan__state_put_snapshot(struct scan_state *state,
                              const uint8_t fingerprint[static SCAN_FINGERPRINT_LEN], struct ts_bytes page,
                              struct ts_bytes past);

/* Stores the path of the repository, so that its state can be removed when the repository no longer exists.
 * For a path that must not be stored, pass ""; such a state is not removed. */
void scan__state_note_path(struct scan_state *state, const char *path);

/* Returns true if there is a file of this kind. */
bool scan__state_has(const struct scan_state *state, enum scan_segment_kind kind);

/* Removes the stored hits and the snapshot, for example because a text in them contains a secret. Needs no
 * lock, and works on a full disk. */
void scan__state_drop_texts(struct scan_state *state);

/* is_scattered returns true if the files are damaged, too many or too small, so that all pages of KNOWN or
 * HITS should be written into one file. Pages that are added between begin and end replace all earlier pages.
 * If a write fails, the earlier pages are kept. */
bool scan__state_is_scattered(struct scan_state *state, enum scan_segment_kind kind);
bool scan__state_rewrite_begin(struct scan_state *state, enum scan_segment_kind kind);
void scan__state_rewrite_end(struct scan_state *state, enum scan_segment_kind kind);

#endif
