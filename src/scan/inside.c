#include "inside.h"

#include "fault_paths.h"
#include "files.h"
#include "lfs.h"
#include "look_impl.h"
#include "option_names.h"
#include "pass.h"

#include "base/redact.h"
#include "os/grow.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Members up to this size are held in memory as a whole; larger members are scanned in windows of this
 * size. */
#define MEMBER_BYTES ((size_t)4 << 20)
/* For each SLOT_BYTES of the memory limit, one archive may be read at a time, because the dictionaries of xz
 * and zstd are large. */
#define SLOT_BYTES   (UINT64_C(256) << 20)

unsigned scan__inside_depth(const struct ts_scan_options *options) {
    unsigned depth = options->archive_depth == 0 ? TS_SCAN_ARCHIVES_DEFAULT : options->archive_depth;
    return options->no_archives ? 0 : depth;
}

void scan__inside_init(struct scan_inside *inside, struct scan_pass *pass) {
    const struct ts_scan_options *options = pass->options;
    uint64_t slots = pass->memory_bytes / SLOT_BYTES;
    *inside = (struct scan_inside){.pass = pass,
                                   .depth_max = scan__inside_depth(options),
                                   .size_max = options->archive_max != 0 ? options->archive_max
                                                                         : TS_SCAN_ARCHIVE_MAX_DEFAULT};
    sem_init(&inside->slots, 0, slots < 1 ? 1 : slots > pass->jobs ? pass->jobs : (unsigned)slots);
}

void scan__inside_release(struct scan_inside *inside) {
    if (inside->pass == NULL)
        return;
    sem_destroy(&inside->slots);
    free(inside->lfs_folder);
}

bool scan__inside_begin(struct scan_inside *inside, const char *git_dir) {
    free(inside->lfs_folder);
    inside->lfs_folder = NULL;
    return git_dir == NULL || asprintf(&inside->lfs_folder, "%s/lfs/objects", git_dir) > 0;
}

void scan__inside_count(struct scan_inside *inside, struct ts_report_target *row) {
    row->encrypted_archives += atomic_exchange(&inside->encrypted, 0);
    row->lfs_objects += atomic_exchange(&inside->lfs_objects, 0);
    row->lfs_missing += atomic_exchange(&inside->lfs_missing, 0);
}

/* ---- names ---- */

const char *scan__content_name(const struct scan_pass *pass, const struct scan_content *content,
                               char ret_name[static SCAN_NAME_SIZE]) {
    char hex[TS_GIT_OID_HEX_SIZE] = "";
    char shown[300];
    bool is_object = content->kind == SCAN_CONTENT_BLOB || content->kind == SCAN_CONTENT_COMMIT ||
                     content->kind == SCAN_CONTENT_TAG;
    if (is_object)
        (void)ts_git_oid_format(pass->targets[content->target].hash, &content->oid, hex);
    (void)ts_text_escape(content->name, shown, sizeof shown);
    bool is_input = !is_object && (content->name.len == 0 || content->name.data[0] == '!');
    snprintf(ret_name, SCAN_NAME_SIZE, "%s%s%s",
             is_object  ? "object "
             : is_input ? "standard input"
                        : "",
             hex, content->kind == SCAN_CONTENT_TAG ? "" : shown);
    return ret_name;
}

/* Returns the name that an unpacking program would give the file: "dump.sql" for "a/dump.sql.gz". */
static struct ts_bytes unpacked_name(struct ts_bytes outer) {
    size_t from = outer.len;
    size_t to = outer.len;
    while (from > 0 && outer.data[from - 1] != '/')
        from--;
    while (to > from && outer.data[to - 1] != '.')
        to--;
    return to > from + 1 ? ts_bytes_of(outer.data + from, to - 1 - from)
                         : ts_bytes_of(outer.data + from, outer.len - from);
}

bool scan__inside_path(struct ts_arena *arena, struct ts_bytes outer, struct ts_bytes inner,
                       struct ts_bytes *ret_path) {
    if (inner.len == 0) {
        *ret_path = outer;
        return true;
    }
    /* Only a member of the outermost archive may lack a name, because the path of that archive was
     * unknown. */
    bool is_unnamed = inner.len == 2 || (inner.len > 2 && inner.data[2] == '!');
    struct ts_bytes name = is_unnamed ? unpacked_name(outer) : TS_BYTES("");
    size_t len = outer.len + inner.len + name.len;
    uint8_t *path = ts_arena_take(arena, len + 1);
    if (path == NULL)
        return false;
    memcpy(path, outer.data, outer.len);
    memcpy(path + outer.len, inner.data, 2);
    if (name.len > 0)
        memcpy(path + outer.len + 2, name.data, name.len);
    memcpy(path + outer.len + 2 + name.len, inner.data + 2, inner.len - 2);
    *ret_path = ts_bytes_of(path, len);
    return true;
}

/* ---- findings of members ---- */

static int compare_findings(const void *a, const void *b) {
    uint32_t left = *(const uint32_t *)a;
    uint32_t right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

/* Sorts the findings of the members, and removes duplicates. */
static void sort_inner(struct scan_look *look) {
    uint32_t *inner = look->inner + look->inner_first;
    size_t count = look->inner_count - look->inner_first;
    size_t kept = 0;
    qsort(inner, count, sizeof *inner, compare_findings);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || inner[kept - 1] != inner[i])
            inner[kept++] = inner[i];
    look->inner_count = look->inner_first + kept;
}

size_t scan__inside_settle(struct scan_look *look, struct scan_hit *hits, size_t count) {
    size_t kept = count;
    if (look->inner_count > look->inner_first) {
        sort_inner(look);
        kept = 0;
        for (size_t i = 0; i < count; i++)
            if (bsearch(&hits[i].finding, look->inner + look->inner_first,
                        look->inner_count - look->inner_first, sizeof *look->inner, compare_findings) == NULL)
                hits[kept++] = hits[i];
    }
    for (size_t i = 0; look->depth > 0 && i < kept; i++)
        if (TS_GROW(look->inner, look->inner_capacity, look->inner_count + 1))
            look->inner[look->inner_count++] = hits[i].finding;
    return kept;
}

/* ---- members ---- */

struct members {
    struct scan_look *look;
    const struct scan_content *archive;
    struct scan_within *within;
    struct scan_content member;
    char *name; /* name of the member */
    uint8_t *buffer;
    size_t size;
    size_t len;
    size_t overlap;
    struct scan_window window;
    struct scan_windows *windows;
};

static struct scan_pass *pass_of(const struct scan_look *look) {
    return look->options.inside->pass;
}

static void note_outcome(struct members *m, enum scan_look_result outcome) {
    char name[SCAN_NAME_SIZE];
    struct scan_pass *pass = pass_of(m->look);
    if (outcome != SCAN_LOOK_OK && !m->look->options.inside->is_quiet)
        scan__pass_outcome(pass, outcome, scan__content_name(pass, &m->member, name));
    m->within->is_lacking = m->within->is_lacking || outcome != SCAN_LOOK_OK;
}

static bool begin_member(void *ctx, struct ts_bytes name) {
    struct members *m = ctx;
    struct ts_bytes outer = m->archive->name;
    /* The path of a blob is not known yet: scan__inside_path adds the name later. */
    if (name.len == 0 && m->archive->kind != SCAN_CONTENT_BLOB)
        name = outer.len > 0 ? unpacked_name(outer) : TS_BYTES("data");
    else if (name.len == 0 && outer.len > 0)
        name = unpacked_name(outer);
    size_t len = outer.len + 2 + name.len;
    free(m->name);
    m->name = malloc(len + 1);
    if (m->name == NULL) {
        m->within->is_lacking = true;
        return false;
    }
    if (outer.len > 0)
        memcpy(m->name, outer.data, outer.len);
    memcpy(m->name + outer.len, "!/", 2);
    if (name.len > 0)
        memcpy(m->name + outer.len + 2, name.data, name.len);
    m->member = *m->archive;
    m->member.name = ts_bytes_of(m->name, len);
    m->member.evidence = 0;
    m->len = 0;
    m->window = (struct scan_window){.at = 0};
    m->look->inner_first = m->look->inner_count; /* the member has no members of its own so far */
    return true;
}

static bool look_at_window(struct members *m, bool is_last) {
    m->window.bytes = ts_bytes_of(m->buffer, m->len);
    m->window.is_last = is_last;
    enum scan_look_result outcome = scan__look_window(m->look, &m->member, &m->window, &m->windows);
    if (is_last || outcome == SCAN_LOOK_NO_MEMORY)
        note_outcome(m, outcome);
    if (m->windows == NULL)
        return false;
    m->window.at += m->len - m->overlap;
    memmove(m->buffer, m->buffer + m->len - m->overlap, m->overlap);
    m->len = m->overlap;
    return true;
}

static bool take_data(void *ctx, struct ts_bytes bytes) {
    struct members *m = ctx;
    struct scan_pass *pass = pass_of(m->look);
    atomic_fetch_add_explicit(&pass->progress->bytes, bytes.len, memory_order_relaxed);
    while (bytes.len > 0) {
        if (m->len == m->size && !look_at_window(m, false))
            return false;
        size_t room = m->size - m->len;
        size_t taken = bytes.len < room ? bytes.len : room;
        memcpy(m->buffer + m->len, bytes.data, taken);
        m->len += taken;
        bytes = ts_bytes_skip(bytes, taken);
    }
    return !scan__is_stopped(pass);
}

static bool end_member(void *ctx) {
    struct members *m = ctx;
    if (m->windows != NULL)
        (void)look_at_window(m, true);
    else
        note_outcome(m, scan__look_whole(m->look, &m->member, ts_bytes_of(m->buffer, m->len), NULL, NULL));
    scan__windows_free(m->windows);
    m->windows = NULL;
    m->within->is_lacking = m->within->is_lacking || !m->look->is_whole;
    m->within->has_found = m->within->has_found || !m->look->is_clean;
    scan__worked(pass_of(m->look), m->look);
    return !scan__is_stopped(pass_of(m->look));
}

static bool goes_on(void *ctx) {
    const struct members *m = ctx;
    return !scan__is_stopped(pass_of(m->look));
}

/* Reports that not all of an archive was scanned. If allow entries allow everything at its path, only counts
 * the fault as accepted. The path of a blob is not known yet, so fault_paths.c decides later. */
__attribute__((format(printf, 4, 5))) static void complain(struct scan_look *look,
                                                           const struct scan_content *archive,
                                                           bool is_lasting, const char *format, ...) {
    struct scan_faults *faults = &pass_of(look)->faults;
    char line[SCAN_NAME_SIZE + 400];
    (void)scan__content_name(pass_of(look), archive, line);
    size_t len = strlen(line);
    if (archive->kind != SCAN_CONTENT_BLOB && scan__fault_is_allowed(look->options.profile, archive->name)) {
        scan__fault_accepted(faults, line);
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line + len, sizeof line - len, format, arguments);
    va_end(arguments);
    if (archive->kind == SCAN_CONTENT_BLOB)
        scan__fault_of_object(faults, &archive->oid, len, line, is_lasting);
    else
        scan__fault(faults, "%s", line);
}

static void note_end(struct scan_look *look, const struct scan_content *archive,
                     const struct scan_archive_result *result) {
    struct scan_pass *pass = pass_of(look);
    char name[SCAN_NAME_SIZE];
    switch (result->end) {
    case SCAN_ARCHIVE_READ:
    case SCAN_ARCHIVE_STOPPED:
        return;
    case SCAN_ARCHIVE_DAMAGED:
        complain(
            look, archive, true,
            ": not all of this archive can be read (%s); the rest is not scanned; an allow entry for its path in "
            ".turnstone.yml accepts that",
            result->why);
        return;
    case SCAN_ARCHIVE_OVER:
        complain(look, archive, false,
                 ": this archive unpacks to more than " SCAN_OPTION_MAX_ARCHIVE
                 ", or to more than %llu times its "
                 "size; the rest is not scanned; to scan all of it, unpack it and use " SCAN_OPTION_DIR,
                 (unsigned long long)SCAN_ARCHIVE_RATIO);
        return;
    case SCAN_ARCHIVE_NO_LIBRARY:
        scan__fault(
            &pass->faults,
            "archives are not opened: the library for them cannot be loaded (%s); " SCAN_OPTION_NO_ARCHIVES
            " scans without opening archives",
            result->why);
        return;
    case SCAN_ARCHIVE_NO_MEMORY:
        scan__pass_outcome(pass, SCAN_LOOK_NO_MEMORY, scan__content_name(pass, archive, name));
        return;
    }
}

enum scan_archive_kind scan__inside_kind(struct scan_look *look, const struct scan_content *content,
                                         struct ts_bytes start, bool is_all) {
    const struct scan_inside *inside = look->options.inside;
    if (inside == NULL || inside->depth_max == 0 || content->kind == SCAN_CONTENT_COMMIT ||
        content->kind == SCAN_CONTENT_TAG)
        return SCAN_ARCHIVE_NONE;
    return scan__archive_kind(start, is_all);
}

static void read_members(struct scan_look *look, struct members *m, enum scan_archive_kind kind,
                         struct ts_bytes archive) {
    struct scan_inside *inside = look->options.inside;
    const struct scan_archive_sink sink = {
        .begin = begin_member, .data = take_data, .end = end_member, .goes_on = goes_on, .ctx = m};
    if (look->depth == 0) {
        while (sem_wait(&inside->slots) != 0)
            continue;
        look->budget = scan__archive_budget(archive.len, inside->size_max);
    }
    look->depth++;
    struct scan_archive_result result = scan__archive_read(kind, archive, &look->budget, &sink);
    look->depth--;
    if (look->depth == 0)
        sem_post(&inside->slots);
    m->within->is_lacking = m->within->is_lacking || result.end != SCAN_ARCHIVE_READ || result.encrypted > 0;
    if (look->options.inside->is_quiet)
        return;
    atomic_fetch_add(&inside->encrypted, result.encrypted > 0);
    note_end(look, m->archive, &result);
}

static void note_depth(struct scan_look *look, const struct scan_content *content) {
    if (!look->options.inside->is_quiet)
        complain(look, content, false,
                 ": an archive inside %u others is not opened; " SCAN_OPTION_ARCHIVE_DEPTH
                 " sets how deep a scan looks",
                 look->depth);
}

struct scan_within scan__inside_members(struct scan_look *look, const struct scan_content *content,
                                        enum scan_archive_kind kind, struct ts_bytes archive) {
    struct scan_within within = {.kind = kind, .outer_first = look->inner_first, .first = look->inner_count};
    if (kind == SCAN_ARCHIVE_NONE)
        return within;
    if (look->depth >= look->options.inside->depth_max) {
        within.is_lacking = true;
        note_depth(look, content);
    } else {
        size_t overlap = scan__look_overlap(look->options.profile);
        struct members m = {.look = look,
                            .archive = content,
                            .within = &within,
                            .overlap = overlap,
                            .size = 2 * overlap > MEMBER_BYTES ? 2 * overlap : MEMBER_BYTES};
        m.buffer = malloc(m.size);
        if (m.buffer != NULL)
            read_members(look, &m, kind, archive);
        else
            note_outcome(&m, SCAN_LOOK_NO_MEMORY);
        scan__windows_free(m.windows);
        free(m.buffer);
        free(m.name);
    }
    look->inner_first = within.first;
    return within;
}

void scan__inside_end(struct scan_look *look, const struct scan_within *within) {
    look->is_whole = look->is_whole && !within->is_lacking;
    look->is_clean = look->is_clean && look->is_whole && !within->has_found;
    look->inner_first = within->outer_first;
    if (look->depth == 0)
        look->inner_first = look->inner_count = 0;
}

void scan__inside_too_large(struct scan_look *look, const struct scan_content *content, uint64_t bytes) {
    if (!look->options.inside->is_quiet)
        complain(look, content, false,
                 ": an archive of more than %llu bytes is not opened: it exceeds " SCAN_OPTION_MAX_ARCHIVE
                 ", or the room for temporary files; raise " SCAN_OPTION_MAX_ARCHIVE
                 ", or make room in TMPDIR",
                 (unsigned long long)bytes);
}

/* ---- pointers ---- */

enum scan_pointer scan__inside_pointer(struct scan_look *look, const struct scan_content *content,
                                       struct ts_bytes bytes) {
    struct scan_inside *inside = look->options.inside;
    struct scan_lfs_pointer pointer;
    if (inside == NULL || inside->lfs_folder == NULL || look->is_pointed || look->depth > 0 ||
        !scan__lfs_pointer(bytes, &pointer))
        return SCAN_POINTER_NONE;
    struct scan_reader reader = {.pass = inside->pass, .look = look};
    int fd = scan__lfs_open(inside->lfs_folder, &pointer);
    if (fd < 0) {
        atomic_fetch_add(&inside->lfs_missing, !look->options.inside->is_quiet);
        return SCAN_POINTER_MISSING;
    }
    uint64_t read = 0;
    look->is_pointed = true; /* prevents following a pointer that refers to itself */
    struct scan_content object = *content;
    object.evidence = 0;
    if (!scan__read_fd(&reader, &object, fd, &read) && !look->options.inside->is_quiet) {
        char name[SCAN_NAME_SIZE];
        scan__fault(&inside->pass->faults,
                    "%s: its LFS object cannot be read; fetch it again with 'git lfs fetch'",
                    scan__content_name(inside->pass, content, name));
    }
    look->is_pointed = false;
    atomic_fetch_add(&inside->lfs_objects, !look->options.inside->is_quiet);
    free(reader.buffer);
    close(fd);
    return SCAN_POINTER_READ;
}
