/*
 * Holds all results until the report is made: findings, contents that have hits, and the hits.
 *
 *   content (a blob, a message, a file) ──> its hits, by place ─┬─> finding (a rule and a secret)
 *                                                               └─> texts: its surroundings, allow entries
 *
 * Texts and findings are stored once, however often they occur: a secret in a thousand versions of a file
 * costs only a hit for each of them. Secrets are kept only if the report shows them or the caller asks for
 * them; otherwise only their prints and redacted forms are kept. A content can be stored and restored,
 * because nothing in it depends on its paths or commits.
 *
 * The order of contents, findings and texts depends on the threads, and differs each time; the report sorts
 * them.
 */
#ifndef TS_SCAN_HITS_H
#define TS_SCAN_HITS_H

#include "pile.h"
#include "prints.h"

#include "base/bytes.h"
#include "detect/finding_id.h"
#include "detect/matches.h"
#include "git/oid.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define SCAN_NO_TEXT 0u

struct scan_hit {
    uint32_t finding;
    uint32_t around; /* text: source of the excerpt (show.h) */
    uint32_t allows; /* text of uint32_t: entries of the configuration that allow the hit at some path */
    uint32_t pragma; /* text: the mark that allows the hit */
    uint64_t line;
    uint64_t column;
    uint64_t end_line;
    uint64_t end_column;
    uint64_t at; /* position and length of the secret */
    uint64_t len;
    int16_t score;      /* scored rules: the score without the path's weights, which differ by location */
    uint8_t confidence; /* other rules: enum ts_confidence */
    uint8_t depth;
    uint8_t encodings[TS_ENCODING_DEPTH];
};

enum scan_content_kind {
    SCAN_CONTENT_BLOB,
    SCAN_CONTENT_COMMIT, /* the message of a commit */
    SCAN_CONTENT_TAG,    /* the message of a tag */
    SCAN_CONTENT_STAGED,
    SCAN_CONTENT_WORKING_TREE,
    SCAN_CONTENT_FILE,
    SCAN_CONTENT_INPUT,
};

struct scan_content {
    struct ts_git_oid oid;    /* id of a blob, commit, tag or staged file */
    struct ts_git_oid commit; /* tags: the peeled target */
    uint32_t target;
    /* The path of a file or the name of a tag. Input of scan__hits_add, which stores it in `path`. */
    struct ts_bytes name;
    uint32_t path; /* position of a text */
    enum scan_content_kind kind;
    bool is_whole; /* every byte was scanned, and every hit is kept */
    uint64_t size; /* size of the object */
    /* Evidence of the object's stored bytes (git/evidence.h); 0: none, and later scans do not reuse the
     * content. */
    uint64_t evidence;
    uint32_t hit_count;
    uint64_t first_hit;
};

struct scan_finding {
    struct ts_finding_id id;
    const struct ts_rule *rule;
    struct scan_print print;
    uint32_t redacted; /* position of a text */
    uint32_t secret;   /* position of a text; SCAN_NO_TEXT if secrets are not kept */
};

/* A hash table of positions in a pile. */
struct scan_table {
    uint32_t *slots;
    size_t slot_count;
    size_t count;
};

struct scan_hits {
    pthread_mutex_t lock; /* guards everything; no other lock is held with it */
    uint8_t key[32];      /* a random key, so that an attacker cannot choose texts that collide */
    size_t findings_max;
    struct scan_pile hits;
    struct scan_pile contents;
    struct scan_pile findings;
    struct scan_pile texts; /* uint32_t length, bytes, a zero; 4-aligned; the first is empty */
    struct scan_table finding_table;
    struct scan_table text_table;
    atomic_uint_fast64_t finding_count;
    bool no_memory; /* memory ran out, and results were lost */
    bool is_over;   /* there are more findings than findings_max */
};

struct scan_hits_options {
    size_t held_max; /* bytes in memory; a list beyond its share of them (hits.c) moves to a file */
    size_t findings_max;
    const char *spill_dir;
};

bool scan__hits_init(struct scan_hits *hits, const struct scan_hits_options *options);
void scan__hits_release(struct scan_hits *hits);

/* Stores a text, and returns its position. Returns SCAN_NO_TEXT for an empty text, or when memory runs out.
 * Any thread may call it. */
uint32_t scan__hits_text(struct scan_hits *hits, struct ts_bytes text);

/* A finding to be added. */
struct scan_finding_new {
    struct ts_finding_id id;
    const struct ts_rule *rule;
    struct scan_print print;
    struct ts_bytes redacted;
    struct ts_bytes secret; /* empty if the secret is not to be kept */
};
/* Finds the finding with this id, or adds it if it is new. Returns false if it cannot be kept. Any thread may
 * call it. */
bool scan__hits_finding(struct scan_hits *hits, const struct scan_finding_new *finding, uint32_t *ret_index);

/* Adds a content with its hits, sorted by position. Any thread may call it. */
void scan__hits_add(struct scan_hits *hits, const struct scan_content *content, const struct scan_hit *items,
                    size_t count);

/* A blob with hits, and one of its contents. An archive and its members are several contents of one blob. */
struct scan_blob {
    struct ts_git_oid oid;
    uint32_t content;
    bool has_location;
};

/* Sorts blobs by id. */
void scan__blobs_sort(struct scan_blob *blobs, size_t count);

/* Finds an id among sorted blobs. Returns the first blob with this id. *ret_count is the number of blobs with
 * this id, which may be 0. */
struct scan_blob *scan__blobs_find(struct scan_blob *blobs, size_t count, const struct ts_git_oid *oid,
                                   size_t *ret_count);

/* The lengths of all lists at some moment. scan__hits_cut truncates the lists to a mark, and restores
 * no_memory and is_over. No other thread may use the hits meanwhile. */
struct scan_hits_mark {
    size_t hits;
    size_t contents;
    size_t findings;
    size_t texts;
    bool no_memory;
    bool is_over;
};
struct scan_hits_mark scan__hits_mark(const struct scan_hits *hits);
void scan__hits_cut(struct scan_hits *hits, const struct scan_hits_mark *mark);

/* Call the functions below from one thread, when all other threads are done. */
struct ts_bytes scan__hits_text_at(const struct scan_hits *hits, uint32_t text);

static inline const struct scan_content *scan__hits_contents(const struct scan_hits *hits,
                                                             size_t *ret_count) {
    *ret_count = hits->contents.len / sizeof(struct scan_content);
    return (const struct scan_content *)(const void *)hits->contents.bytes;
}

static inline const struct scan_hit *scan__hits_items(const struct scan_hits *hits) {
    return (const struct scan_hit *)(const void *)hits->hits.bytes;
}

static inline const struct scan_finding *scan__hits_findings(const struct scan_hits *hits) {
    return (const struct scan_finding *)(const void *)hits->findings.bytes;
}

#endif
