#include "faults.h"

#include "look_impl.h"
#include "option_names.h"
#include "os/grow.h"

#include <inttypes.h>
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
    free(faults->objects);
    free(faults->notes);
    ts_arena_release(&faults->arena);
    pthread_mutex_destroy(&faults->lock);
}

/* Copies a line into the arena, with names of options in place of their codes. Returns NULL when memory runs
 * out. The caller holds the lock. */
static const char *keep(struct scan_faults *faults, const char *line) {
    char named[NAMED_SIZE];
    (void)scan__name_options(line, faults->for_library, named, sizeof named);
    const char *kept = ts_arena_copy(&faults->arena, ts_bytes_of_cstring(named));
    faults->no_memory = faults->no_memory || kept == NULL;
    return kept;
}

/* Counts a fault. Returns whether its line is kept. The caller holds the lock. */
static bool add_line(struct scan_faults *faults, const char *line, bool is_lasting) {
    faults->total++;
    faults->lasting += is_lasting;
    const char *text = faults->count < SCAN_FAULTS_MAX ? keep(faults, line) : NULL;
    if (text == NULL || !TS_GROW(faults->items, faults->capacity, faults->count + 1))
        return false;
    faults->items[faults->count++] = (struct ts_report_fault){.target = faults->target, .text = text};
    return true;
}

static void add(struct scan_faults *faults, const char *line, bool is_lasting) {
    pthread_mutex_lock(&faults->lock);
    (void)add_line(faults, line, is_lasting);
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

void scan__fault_of_object(struct scan_faults *faults, const struct ts_git_oid *oid, size_t name_len,
                           const char *line, bool is_lasting) {
    pthread_mutex_lock(&faults->lock);
    if (add_line(faults, line, is_lasting) &&
        TS_GROW(faults->objects, faults->object_capacity, faults->object_count + 1))
        faults->objects[faults->object_count++] =
            (struct scan_fault_object){.oid = *oid,
                                       .item = (uint32_t)(faults->count - 1),
                                       .name_len = (uint32_t)name_len,
                                       .is_lasting = is_lasting};
    pthread_mutex_unlock(&faults->lock);
}

/* Gives a fault its path: "object 1234…!/a: why" becomes "x/y.zip!/a (object 1234…): why". */
void scan__faults_place(struct scan_faults *faults, size_t object, const char *path, bool is_accepted) {
    const struct scan_fault_object *of = &faults->objects[object];
    struct ts_report_fault *item = &faults->items[of->item];
    size_t id_len = strcspn(item->text, "!:"); /* an id contains neither '!' nor ':' */
    char line[NAMED_SIZE];
    snprintf(line, sizeof line, "%s%.*s (%.*s)%s", path, (int)(of->name_len - id_len), item->text + id_len,
             (int)id_len, item->text, is_accepted ? "" : item->text + of->name_len);
    if (!is_accepted) {
        const char *text = ts_arena_copy(&faults->arena, ts_bytes_of_cstring(line));
        item->text = text != NULL ? text : item->text;
        return;
    }
    line[strlen(path) + of->name_len - id_len] = '\0';
    scan__fault_accepted(faults, line);
    faults->total--;
    faults->lasting -= of->is_lasting;
    item->text = NULL;
}

void scan__faults_settle(struct scan_faults *faults) {
    size_t kept = 0;
    for (size_t i = 0; i < faults->count; i++)
        if (faults->items[i].text != NULL)
            faults->items[kept++] = faults->items[i];
    faults->count = kept;
    faults->object_count = 0;
}

/* Counts an accepted fault. The note names the fault whose name is first in the order of bytes, so that the
 * note does not depend on threads. */
void scan__fault_accepted(struct scan_faults *faults, const char *name) {
    pthread_mutex_lock(&faults->lock);
    if (faults->accepted == 0 || faults->accepted_one == NULL || strcmp(name, faults->accepted_one) < 0)
        faults->accepted_one = ts_arena_copy(&faults->arena, ts_bytes_of_cstring(name));
    faults->accepted++;
    pthread_mutex_unlock(&faults->lock);
}

void scan__faults_note_accepted(struct scan_faults *faults) {
    uint64_t count = faults->accepted;
    faults->accepted = 0;
    if (count > 0)
        scan__note(faults,
                   "%" PRIu64
                   " archive%s could not be read completely; this is accepted, because allow entries allow "
                   "everything at %s path%s, such as '%s'",
                   count, count == 1 ? "" : "s", count == 1 ? "its" : "their", count == 1 ? "" : "s",
                   faults->accepted_one != NULL ? faults->accepted_one : "?");
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
                                     .accepted = faults->accepted,
                                     .object_count = faults->object_count,
                                     .note_count = faults->note_count,
                                     .no_memory = faults->no_memory};
}

void scan__faults_cut(struct scan_faults *faults, const struct scan_faults_mark *mark) {
    faults->count = mark->count;
    faults->total = mark->total;
    faults->lasting = mark->lasting;
    faults->accepted = mark->accepted;
    faults->object_count = mark->object_count;
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
