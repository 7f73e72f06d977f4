#include "masking.h"

#include <stdlib.h>
#include <string.h>

/* Number of remembered masked texts, a power of two: lines and paths repeat. */
#define KNOWN_COUNT ((size_t)1 << 14)

struct scan_mark scan__mark(const struct scan_pass *pass) {
    struct scan_mark mark = {.commits = pass->commits.len / sizeof(struct scan_commit),
                             .locations = pass->locations.len / sizeof(struct scan_location)};
    (void)scan__hits_contents(&pass->hits, &mark.contents);
    return mark;
}

/* Skips findings without hits. In a content that is scanned in windows, settling may remove all hits of a
 * finding. The state does not keep such findings. */
bool scan__masks_of(const struct scan_pass *pass, size_t first_content, struct scan_masks *ret_masks) {
    const struct scan_hits *hits = &pass->hits;
    const struct scan_finding *findings = scan__hits_findings(hits);
    const struct scan_hit *items = scan__hits_items(hits);
    size_t count = hits->hits.len / sizeof *items;
    size_t contents;
    const struct scan_content *all = scan__hits_contents(hits, &contents);
    size_t first = first_content < contents ? (size_t)all[first_content].first_hit : count;
    struct scan_masks masks = {.prints = {.key = pass->print_key}};
    bool *is_added = calloc(hits->finding_table.count + 1, sizeof *is_added);
    bool done = is_added != NULL;
    for (size_t i = first; done && i < count && !pass->options->shows_secrets; i++) {
        const struct scan_print *print = &findings[items[i].finding].print;
        if (is_added[items[i].finding])
            continue;
        is_added[items[i].finding] = true;
        done = scan__prints_add(&masks.prints, print);
    }
    free(is_added);
    done = done && (masks.prints.count == 0 || scan__masks_reserve(&masks));
    if (!done) {
        scan__masks_release(&masks);
        return false;
    }
    scan__prints_sort(&masks.prints);
    *ret_masks = masks;
    return true;
}

/* ---- texts ---- */

struct known {
    uint32_t text; /* SCAN_NO_TEXT: free */
    uint32_t masked;
};

struct masking {
    struct scan_pass *pass;
    struct scan_hits *hits;
    struct scan_masks masks;
    struct ts_arena arena;
    struct known *lines;
    struct known *names;
};

/* Masks a line. Adding a text may move the bytes of the line, so they are copied first. */
static uint32_t mask_line(struct masking *masking, uint32_t text) {
    char around[SCAN_AROUND_SIZE];
    masking->masks.is_late = scan__is_past_end(masking->pass);
    size_t len = scan__around_mask(scan__hits_text_at(masking->hits, text), &masking->masks, around);
    return len > 0 ? scan__hits_text(masking->hits, ts_bytes_of(around, len)) : text;
}

static uint32_t mask_name(struct masking *masking, uint32_t text) {
    struct ts_bytes bytes = scan__hits_text_at(masking->hits, text);
    masking->masks.is_late = scan__is_past_end(masking->pass);
    struct ts_bytes masked = scan__masks_apply(&masking->masks, &masking->arena, bytes);
    uint32_t made = masked.data == bytes.data ? text : scan__hits_text(masking->hits, masked);
    ts_arena_clear(&masking->arena);
    return made;
}

static uint32_t line_of(struct masking *masking, uint32_t text) {
    struct known *known = &masking->lines[text % KNOWN_COUNT];
    if (text != SCAN_NO_TEXT && known->text != text)
        *known = (struct known){text, mask_line(masking, text)};
    return text == SCAN_NO_TEXT ? text : known->masked;
}

static uint32_t name_of(struct masking *masking, uint32_t text) {
    struct known *known = &masking->names[text % KNOWN_COUNT];
    if (text != SCAN_NO_TEXT && known->text != text)
        *known = (struct known){text, mask_name(masking, text)};
    return text == SCAN_NO_TEXT ? text : known->masked;
}

static bool mask_contents(struct masking *masking, size_t first) {
    bool is_changed = false;
    size_t count;
    struct scan_content *contents = (struct scan_content *)(void *)masking->hits->contents.bytes;
    struct scan_hit *hits = (struct scan_hit *)(void *)masking->hits->hits.bytes;
    (void)scan__hits_contents(masking->hits, &count);
    for (size_t i = first; i < count; i++) {
        uint32_t path = name_of(masking, contents[i].path);
        is_changed = is_changed || path != contents[i].path;
        contents[i].path = path;
        for (uint64_t k = 0; k < contents[i].hit_count; k++) {
            struct scan_hit *hit = &hits[contents[i].first_hit + k];
            uint32_t around = line_of(masking, hit->around);
            is_changed = is_changed || around != hit->around;
            hit->around = around;
        }
    }
    return is_changed;
}

static void mask_places(struct masking *masking, struct scan_pass *pass, const struct scan_mark *mark,
                        struct scan_masked *masked) {
    struct scan_commit *commits = (struct scan_commit *)(void *)pass->commits.bytes;
    struct scan_location *locations = (struct scan_location *)(void *)pass->locations.bytes;
    for (size_t i = mark->commits; i < pass->commits.len / sizeof *commits; i++) {
        uint32_t name = name_of(masking, commits[i].author_name);
        uint32_t mail = name_of(masking, commits[i].author_mail);
        masked->any = masked->any || name != commits[i].author_name || mail != commits[i].author_mail;
        commits[i].author_name = name;
        commits[i].author_mail = mail;
    }
    for (size_t i = mark->locations; i < pass->locations.len / sizeof *locations; i++) {
        locations[i].path = name_of(masking, locations[i].path);
        masked->paths = masked->paths || locations[i].path != locations[i].real_path;
    }
    masked->any = masked->any || masked->paths;
}

bool scan__mask_since(struct scan_pass *pass, const struct scan_mark *mark, size_t first_content,
                      struct scan_masked *ret_masked) {
    struct masking masking = {.pass = pass,
                              .hits = &pass->hits,
                              .lines = calloc(KNOWN_COUNT, sizeof *masking.lines),
                              .names = calloc(KNOWN_COUNT, sizeof *masking.names)};
    bool done = masking.lines != NULL && masking.names != NULL &&
                scan__masks_of(pass, mark->contents, &masking.masks);
    *ret_masked = (struct scan_masked){.any = false};
    if (done) {
        ret_masked->any = mask_contents(&masking, first_content);
        mask_places(&masking, pass, mark, ret_masked);
        if (masking.masks.is_cut)
            scan__limits_cut(pass);
    }
    scan__masks_release(&masking.masks);
    ts_arena_release(&masking.arena);
    free(masking.lines);
    free(masking.names);
    return done;
}
