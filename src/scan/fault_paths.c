#include "fault_paths.h"

#include "base/redact.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_SIZE 300

static int compare(const void *a, const void *b) {
    const struct scan_fault_place *x = a;
    const struct scan_fault_place *y = b;
    return ts_git_oid_compare(&x->oid, &y->oid);
}

bool scan__fault_paths_init(struct scan_fault_paths *paths, struct scan_pass *pass, uint32_t target) {
    const struct scan_faults *faults = &pass->faults;
    *paths = (struct scan_fault_paths){.pass = pass, .profile = pass->targets[target].profile};
    if (faults->object_count == 0)
        return true;
    paths->items = calloc(faults->object_count, sizeof *paths->items);
    if (paths->items == NULL)
        return false;
    for (size_t i = 0; i < faults->object_count; i++)
        paths->items[i] = (struct scan_fault_place){.oid = faults->objects[i].oid, .object = (uint32_t)i};
    paths->count = faults->object_count;
    qsort(paths->items, paths->count, sizeof *paths->items, compare);
    return true;
}

void scan__fault_paths_release(struct scan_fault_paths *paths) {
    free(paths->items);
    ts_arena_release(&paths->arena);
    *paths = (struct scan_fault_paths){.pass = NULL};
}

void scan__fault_paths_want(const struct scan_fault_paths *paths, struct ts_git_set *blobs) {
    for (size_t i = 0; i < paths->count; i++)
        (void)ts_git_set_add(blobs, &paths->items[i].oid);
}

bool scan__fault_is_allowed(const struct scan_profile *profile, struct ts_bytes path) {
    char text[SCAN_FAULT_PATH_SIZE];
    if (!profile->has_config || path.len >= sizeof text)
        return false;
    memcpy(text, path.data, path.len);
    text[path.len] = '\0';
    return ts_detect_config_allows_all(&profile->config, text);
}

/* Records the path for all faults of the content. A content with several faults, such as members of an
 * archive, has several items. */
void scan__fault_paths_found(struct scan_fault_paths *paths, const struct ts_git_oid *oid,
                             struct ts_bytes path) {
    const struct scan_fault_place wanted = {.oid = *oid};
    struct scan_fault_place *item =
        paths->count > 0 ? bsearch(&wanted, paths->items, paths->count, sizeof wanted, compare) : NULL;
    if (item == NULL)
        return;
    while (item > paths->items && compare(item - 1, &wanted) == 0)
        item--;
    for (; item < paths->items + paths->count && compare(item, &wanted) == 0; item++) {
        bool is_other = !scan__fault_is_allowed(paths->profile, path);
        if (item->path == NULL || (is_other && !item->has_other_place))
            item->path = ts_arena_copy(&paths->arena, path);
        item->has_other_place = item->has_other_place || is_other;
    }
}

void scan__fault_paths_end(struct scan_fault_paths *paths, bool is_all) {
    for (size_t i = 0; i < paths->count; i++) {
        const struct scan_fault_place *item = &paths->items[i];
        char shown[SHOWN_SIZE];
        if (item->path == NULL)
            continue;
        (void)ts_text_escape(ts_bytes_of_cstring(item->path), shown, sizeof shown);
        scan__faults_place(&paths->pass->faults, item->object, shown, is_all && !item->has_other_place);
    }
    if (paths->count > 0)
        scan__faults_settle(&paths->pass->faults);
}
