/*
 * Objects and files that could not be read, and other notes, as lines for the report.
 */
#ifndef TS_SCAN_FAULTS_H
#define TS_SCAN_FAULTS_H

#include "os/arena.h"

#include "git/error.h"
#include "report/report.h"

#include <pthread.h>

/* Maximum number of kept faults. Further faults are only counted. */
#define SCAN_FAULTS_MAX      1000
/* Size of a buffer for a path. Longer paths are not compared with allow entries. */
#define SCAN_FAULT_PATH_SIZE 4097

/* A fault of a content whose path is not known yet. */
struct scan_fault_object {
    struct ts_git_oid oid;
    uint32_t item;     /* index of the line in `items` */
    uint32_t name_len; /* length of "object 1234…!/a/b" at the beginning of the line */
    bool is_lasting;
};

struct scan_faults {
    pthread_mutex_t lock; /* guards everything; no other lock is held with it */
    struct ts_arena arena;
    struct ts_report_fault *items;
    size_t count;
    size_t capacity;
    uint64_t total;
    struct scan_fault_object *objects;
    size_t object_count;
    size_t object_capacity;
    uint64_t accepted;        /* faults of the current target that allow entries accept */
    const char *accepted_one; /* the name of one accepted fault */
    uint64_t lasting;         /* faults that follow from the stored objects alone: every scan reports them */
    const char **notes;
    size_t note_count;
    size_t note_capacity;
    bool no_memory;
    bool for_library; /* as in struct ts_scan_options */
    uint32_t target;  /* index of the current target; set between targets */
    uint64_t moved;   /* objects that were added or moved while the current target was read */
};

void scan__faults_init(struct scan_faults *faults);
void scan__faults_release(struct scan_faults *faults);

/* These functions add one line, which must be safe to print, to the faults or the notes. Any thread may call
 * them. */
__attribute__((format(printf, 2, 3))) void scan__fault(struct scan_faults *faults, const char *format, ...);
__attribute__((format(printf, 2, 3))) void scan__note(struct scan_faults *faults, const char *format, ...);

/* Adds a fault that follows from the stored objects alone, so that a snapshot of the scan can repeat it. */
void scan__fault_lasting(struct scan_faults *faults, const char *line);

/* Adds a fault of a content whose path is not known yet. The line begins with the name of the content, which
 * has name_len bytes and begins with "object " and the id. Until scan__faults_settle, scan__faults_place may
 * give the fault a path: then the line names the path, or the fault is removed if it is accepted. */
void scan__fault_of_object(struct scan_faults *faults, const struct ts_git_oid *oid, size_t name_len,
                           const char *line, bool is_lasting);
void scan__faults_place(struct scan_faults *faults, size_t object, const char *path, bool is_accepted);
void scan__faults_settle(struct scan_faults *faults);

/* Counts a fault that an allow entry accepts. */
void scan__fault_accepted(struct scan_faults *faults, const char *name);
/* If faults were accepted since the last call, adds a note with their number. */
void scan__faults_note_accepted(struct scan_faults *faults);

struct ts_git_fault_sink scan__faults_sink(struct scan_faults *faults);

/* The lengths of the lists at some moment. scan__faults_cut truncates the lists to a mark. */
struct scan_faults_mark {
    size_t count;
    uint64_t total;
    uint64_t lasting;
    uint64_t accepted;
    size_t object_count;
    size_t note_count;
    bool no_memory;
};
struct scan_faults_mark scan__faults_mark(const struct scan_faults *faults);
void scan__faults_cut(struct scan_faults *faults, const struct scan_faults_mark *mark);

/* Sorts the lines, so that their order does not depend on threads, and removes duplicates: two visits may
 * report the same object. */
void scan__faults_sort(struct scan_faults *faults);

#endif
