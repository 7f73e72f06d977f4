#include "faults.h"

#include "look_impl.h"
#include "option_names.h"
#include "os/grow.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_SIZE  600
#define NAMED_SIZE 1000

void scan__faults_init(struct scan_faults *faults) {
    *faults = (struct scan_faults){.items = NULL};
    pthread_mutex_init(&faults->lock, NULL);
}

void scan__faults_release(struct scan_faults *faults) {
    free(faults->items);
    free(faults->notes);
    ts_arena_release(&faults->arena);
    pthread_mutex_destroy(&faults->lock);
}

/* The caller holds the lock. */
static const char *keep(struct scan_faults *faults, const char *line) {
    char named[NAMED_SIZE];
    (void)scan__name_options(line, faults->for_library, named, sizeof named);
    const char *kept = ts_arena_copy(&faults->arena, ts_bytes_of_cstring(named));
    faults->no_memory = faults->no_memory || kept == NULL;
    return kept;
}

static void add(struct scan_faults *faults, const char *line, bool is_lasting) {
    pthread_mutex_lock(&faults->lock);
    faults->total++;
    faults->lasting += is_lasting;
    const char *text = faults->count < SCAN_FAULTS_MAX ? keep(faults, line) : NULL;
    if (text != NULL && TS_GROW(faults->items, faults->capacity, faults->count + 1))
        faults->items[faults->count++] = (struct ts_report_fault){.target = faults->target, .text = text};
    pthread_mutex_unlock(&faults->lock);
}

void scan__fault(struct scan_faults *faults, const char *format, ...) {
    char line[LINE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    add(faults, line, false);
}

void scan__fault_lasting(struct scan_faults *faults, const char *line) {
    add(faults, line, true);
}

void scan__note(struct scan_faults *faults, const char *format, ...) {
    char line[LINE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    pthread_mutex_lock(&faults->lock);
    const char *text = keep(faults, line);
    if (text != NULL && TS_GROW(faults->notes, faults->note_capacity, faults->note_count + 1))
        faults->notes[faults->note_count++] = text;
    pthread_mutex_unlock(&faults->lock);
}

static void take(void *ctx, const struct ts_git_fault *fault) {
    struct scan_faults *faults = ctx;
    char line[LINE_SIZE];
    (void)ts_git_fault_describe(fault, line, sizeof line);
    size_t len = strlen(line);
    if (fault->error == TS_GIT_NO_ROOM)
        snprintf(line + len, sizeof line - len, " (" SCAN_OPTION_MEMORY ")");
    add(faults, line, fault->error == TS_GIT_MISSING);
    pthread_mutex_lock(&faults->lock);
    faults->moved += fault->error == TS_GIT_MOVED;
    pthread_mutex_unlock(&faults->lock);
}

struct ts_git_fault_sink scan__faults_sink(struct scan_faults *faults) {
    return (struct ts_git_fault_sink){.take = take, .ctx = faults};
}

struct scan_faults_mark scan__faults_mark(const struct scan_faults *faults) {
    return (struct scan_faults_mark){.count = faults->count,
                                     .total = faults->total,
                                     .lasting = faults->lasting,
                                     .note_count = faults->note_count,
                                     .no_memory = faults->no_memory};
}

void scan__faults_cut(struct scan_faults *faults, const struct scan_faults_mark *mark) {
    faults->count = mark->count;
    faults->total = mark->total;
    faults->lasting = mark->lasting;
    faults->note_count = mark->note_count;
    faults->no_memory = mark->no_memory;
    faults->moved = 0;
}

static int compare(const void *a, const void *b) {
    const struct ts_report_fault *x = a;
    const struct ts_report_fault *y = b;
    int order = (x->target > y->target) - (x->target < y->target);
    return order != 0 ? order : strcmp(x->text, y->text);
}

void scan__faults_sort(struct scan_faults *faults) {
    if (faults->count == 0)
        return;
    qsort(faults->items, faults->count, sizeof *faults->items, compare);
    size_t kept = 1;
    for (size_t i = 1; i < faults->count; i++)
        if (compare(&faults->items[kept - 1], &faults->items[i]) != 0)
            faults->items[kept++] = faults->items[i];
    faults->total -= faults->count - kept;
    faults->count = kept;
}
