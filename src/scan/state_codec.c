#include "state_codec.h"

#include "look_impl.h"
#include "os/grow.h"

#include "base/endian.h"

#include <stdlib.h>
#include <string.h>

/* ---- bytes that grow ---- */

void scan__buffer_release(struct scan_buffer *buffer) {
    free(buffer->data);
    *buffer = (struct scan_buffer){.data = NULL};
}

void scan__buffer_put(struct scan_buffer *buffer, struct ts_bytes bytes) {
    if (buffer->no_memory || !TS_GROW(buffer->data, buffer->capacity, buffer->len + bytes.len)) {
        buffer->no_memory = true;
        return;
    }
    if (bytes.len > 0)
        memcpy(buffer->data + buffer->len, bytes.data, bytes.len);
    buffer->len += bytes.len;
}

/* Writes seven bits per byte, the lowest first. All bytes but the last have the highest bit set. */
void scan__buffer_put_number(struct scan_buffer *buffer, uint64_t number) {
    uint8_t bytes[10];
    size_t len = 0;
    for (; number > 0x7f; number >>= 7)
        bytes[len++] = (uint8_t)(number | 0x80);
    bytes[len++] = (uint8_t)number;
    scan__buffer_put(buffer, ts_bytes_of(bytes, len));
}

/* Writes a signed number. Numbers near 0, positive or negative, are short. */
static void put_signed(struct scan_buffer *buffer, int64_t number) {
    uint64_t twice = (uint64_t)number << 1;
    scan__buffer_put_number(buffer, number < 0 ? ~twice : twice);
}

struct reader {
    struct ts_bytes rest;
    bool is_bad;
};

static struct ts_bytes take(struct reader *reader, uint64_t len) {
    if (reader->is_bad || len > reader->rest.len) {
        reader->is_bad = true;
        return (struct ts_bytes){NULL, 0};
    }
    struct ts_bytes taken = ts_bytes_first(reader->rest, (size_t)len);
    reader->rest = ts_bytes_skip(reader->rest, (size_t)len);
    return taken;
}

static uint64_t take_number(struct reader *reader) {
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        struct ts_bytes byte = take(reader, 1);
        if (reader->is_bad)
            return 0;
        number |= (uint64_t)(byte.data[0] & 0x7f) << shift;
        if ((byte.data[0] & 0x80) == 0) {
            reader->is_bad = shift == 63 && byte.data[0] > 1;
            return number;
        }
    }
    reader->is_bad = true;
    return 0;
}

bool scan__number_decode(struct ts_bytes *bytes, uint64_t *ret_number) {
    struct reader reader = {.rest = *bytes};
    uint64_t number = take_number(&reader);
    if (reader.is_bad)
        return false;
    *bytes = reader.rest;
    *ret_number = number;
    return true;
}

static int64_t take_signed(struct reader *reader) {
    uint64_t twice = take_number(reader);
    return (int64_t)(twice >> 1) ^ -(int64_t)(twice & 1);
}

/* Reads a number, which must be below the limit; otherwise the page is bad. */
static uint64_t take_below(struct reader *reader, uint64_t limit) {
    uint64_t number = take_number(reader);
    if (number >= limit)
        reader->is_bad = true;
    return reader->is_bad ? 0 : number;
}

/* Reads the number of following items. Each item takes at least least_len bytes, so the rest of the page
 * limits the number of items. */
static size_t take_count(struct reader *reader, size_t least_len) {
    size_t most = reader->rest.len / least_len;
    return (size_t)take_below(reader, (uint64_t)most + 1);
}

static struct ts_git_oid take_oid(struct reader *reader, enum ts_git_hash hash) {
    static const struct ts_git_oid none = {{0}};
    struct ts_bytes bytes = take(reader, ts_git_hash_len(hash));
    return reader->is_bad ? none : ts_git_oid_of(hash, bytes.data);
}

/* ---- ids ---- */

static bool is_kind(uint64_t number) {
    return number == SCAN_CONTENT_BLOB || number == SCAN_CONTENT_COMMIT || number == SCAN_CONTENT_TAG;
}

void scan__known_encode(struct scan_buffer *buffer, enum ts_git_hash hash, const struct scan_known *known) {
    uint8_t bytes[TS_GIT_OID_MAX + 16];
    size_t len = ts_git_hash_len(hash);
    memcpy(bytes, known->oid.bytes, len);
    ts_le64_store(known->size << 2 | (uint64_t)known->kind, bytes + len);
    ts_le64_store(known->evidence, bytes + len + 5);
    ts_le16_store(known->pack <= SCAN_KNOWN_PACKS_MAX ? (uint16_t)known->pack : 0, bytes + len + 13);
    scan__buffer_put(buffer, ts_bytes_of(bytes, scan__known_len(hash)));
}

static struct scan_known decode_known(const uint8_t *bytes, enum ts_git_hash hash) {
    uint8_t number[8] = {0};
    const uint8_t *rest = bytes + ts_git_hash_len(hash);
    memcpy(number, rest, 5);
    uint64_t both = ts_le64_load(number);
    return (struct scan_known){.oid = ts_git_oid_of(hash, bytes),
                               .size = both >> 2,
                               .kind = (enum scan_content_kind)(both & 3),
                               .evidence = ts_le64_load(rest + 5),
                               .pack = ts_le16_load(rest + 13)};
}

void scan__known_page_encode(const struct scan_known_page *page, struct scan_buffer *buffer) {
    scan__buffer_put_number(buffer, page->pack_count);
    scan__buffer_put(buffer, ts_bytes_of(page->packs, page->pack_count * TS_GIT_PACK_ID_LEN));
    scan__buffer_put(buffer, page->items);
}

bool scan__known_page_decode(struct ts_bytes bytes, enum ts_git_hash hash, struct scan_known_page *ret_page) {
    struct reader reader = {.rest = bytes};
    size_t count = take_count(&reader, TS_GIT_PACK_ID_LEN);
    struct ts_bytes packs = take(&reader, (uint64_t)count * TS_GIT_PACK_ID_LEN);
    if (reader.is_bad || count > SCAN_KNOWN_PACKS_MAX || reader.rest.len % scan__known_len(hash) != 0)
        return false;
    struct scan_known_page page = {
        .hash = hash, .packs = packs.data, .pack_count = count, .items = reader.rest};
    for (size_t i = 0; i < scan__known_page_count(&page); i++) {
        struct scan_known known = scan__known_page_at(&page, i);
        if (!is_kind((uint64_t)known.kind) || known.evidence == 0 || known.pack > count)
            return false;
    }
    *ret_page = page;
    return true;
}

size_t scan__known_page_count(const struct scan_known_page *page) {
    return page->items.len / scan__known_len(page->hash);
}

struct scan_known scan__known_page_at(const struct scan_known_page *page, size_t index) {
    return decode_known(page->items.data + index * scan__known_len(page->hash), page->hash);
}

/* ---- writing material ---- */

/* Positions of texts or findings, sorted, without duplicates. The index of a position is its number in the
 * page. */
struct places {
    uint32_t *items;
    size_t count;
    size_t capacity;
    bool no_memory;
};

static void add_place(struct places *places, uint32_t place) {
    if (places->count > 0 && places->items[places->count - 1] == place)
        return;
    if (TS_GROW(places->items, places->capacity, places->count + 1))
        places->items[places->count++] = place;
    else
        places->no_memory = true;
}

static int compare_places(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void sort_places(struct places *places) {
    size_t kept = 0;
    if (places->count > 0)
        qsort(places->items, places->count, sizeof *places->items, compare_places);
    for (size_t i = 0; i < places->count; i++)
        if (i == 0 || places->items[i] != places->items[i - 1])
            places->items[kept++] = places->items[i];
    places->count = kept;
}

static uint64_t number_of(const struct places *places, uint32_t place) {
    const uint32_t *found =
        bsearch(&place, places->items, places->count, sizeof *places->items, compare_places);
    return (uint64_t)(found - places->items);
}

struct writer {
    const struct scan_material *material;
    const struct scan_content *all;
    const struct scan_hit *hits;
    const struct scan_finding *findings;
    const struct scan_commit *commits;
    const struct scan_location *locations;
    struct places texts;
    struct places used; /* findings */
    struct scan_buffer *buffer;
};

static void collect(struct writer *writer) {
    const struct scan_material *material = writer->material;
    struct places *texts = &writer->texts;
    for (size_t i = 0; i < material->content_count; i++) {
        const struct scan_content *content = &writer->all[material->contents[i]];
        add_place(texts, content->path);
        for (uint64_t k = content->first_hit; k < content->first_hit + content->hit_count; k++) {
            add_place(texts, writer->hits[k].around);
            add_place(texts, writer->hits[k].allows);
            add_place(texts, writer->hits[k].pragma);
            add_place(&writer->used, writer->hits[k].finding);
        }
    }
    sort_places(&writer->used);
    for (size_t i = 0; i < writer->used.count; i++)
        add_place(texts, writer->findings[writer->used.items[i]].redacted);
    for (size_t i = 0; i < material->commit_count; i++) {
        add_place(texts, writer->commits[material->first_commit + i].author_name);
        add_place(texts, writer->commits[material->first_commit + i].author_mail);
    }
    for (size_t i = 0; i < material->location_count; i++)
        add_place(texts, writer->locations[material->first_location + i].path);
    sort_places(texts);
}

static void put_text(struct writer *writer, uint32_t text) {
    scan__buffer_put_number(writer->buffer, number_of(&writer->texts, text));
}

static void put_bytes(struct scan_buffer *buffer, struct ts_bytes bytes) {
    scan__buffer_put_number(buffer, bytes.len);
    scan__buffer_put(buffer, bytes);
}

static void put_print(struct scan_buffer *buffer, const struct scan_print *print) {
    uint8_t hash[8];
    ts_le64_store(print->hash, hash);
    scan__buffer_put_number(buffer, print->len);
    scan__buffer_put(buffer, ts_bytes_of(hash, sizeof hash));
    scan__buffer_put(buffer, ts_bytes_of(print->head, sizeof print->head));
}

static void put_tables(struct writer *writer) {
    struct scan_buffer *buffer = writer->buffer;
    scan__buffer_put_number(buffer, writer->texts.count);
    for (size_t i = 0; i < writer->texts.count; i++)
        put_bytes(buffer, scan__hits_text_at(&writer->material->pass->hits, writer->texts.items[i]));
    scan__buffer_put_number(buffer, writer->used.count);
    for (size_t i = 0; i < writer->used.count; i++) {
        const struct scan_finding *finding = &writer->findings[writer->used.items[i]];
        scan__buffer_put(buffer, ts_bytes_of(finding->id.text, TS_FINDING_ID_LEN));
        put_bytes(buffer, ts_bytes_of_cstring(finding->rule->id));
        put_print(buffer, &finding->print);
        put_text(writer, finding->redacted);
    }
}

static void put_hit(struct writer *writer, const struct scan_hit *hit) {
    struct scan_buffer *buffer = writer->buffer;
    scan__buffer_put_number(buffer, number_of(&writer->used, hit->finding));
    put_text(writer, hit->around);
    put_text(writer, hit->allows);
    put_text(writer, hit->pragma);
    scan__buffer_put_number(buffer, hit->line);
    scan__buffer_put_number(buffer, hit->column);
    scan__buffer_put_number(buffer, hit->end_line);
    scan__buffer_put_number(buffer, hit->end_column);
    scan__buffer_put_number(buffer, hit->at);
    scan__buffer_put_number(buffer, hit->len);
    scan__buffer_put_number(buffer, hit->confidence);
    scan__buffer_put_number(buffer, (uint64_t)(hit->score - INT16_MIN));
    scan__buffer_put_number(buffer, hit->depth);
    for (size_t i = 0; i < TS_ENCODING_DEPTH; i++)
        scan__buffer_put_number(buffer, hit->encodings[i]);
}

static void put_evidence(struct scan_buffer *buffer, uint64_t evidence) {
    uint8_t bytes[8];
    ts_le64_store(evidence, bytes);
    scan__buffer_put(buffer, ts_bytes_of(bytes, sizeof bytes));
}

static void put_contents(struct writer *writer) {
    const struct scan_material *material = writer->material;
    size_t oid_len = ts_git_hash_len(material->hash);
    scan__buffer_put_number(writer->buffer, material->content_count);
    for (size_t i = 0; i < material->content_count; i++) {
        const struct scan_content *content = &writer->all[material->contents[i]];
        scan__buffer_put(writer->buffer, ts_bytes_of(content->oid.bytes, oid_len));
        scan__buffer_put(writer->buffer, ts_bytes_of(content->commit.bytes, oid_len));
        scan__buffer_put_number(writer->buffer, (uint64_t)content->kind);
        scan__buffer_put_number(writer->buffer, content->size);
        put_evidence(writer->buffer, content->evidence);
        put_text(writer, content->path);
        scan__buffer_put_number(writer->buffer, content->hit_count);
        for (uint64_t k = 0; k < content->hit_count; k++)
            put_hit(writer, &writer->hits[content->first_hit + k]);
    }
}

static void put_commits(struct writer *writer) {
    const struct scan_material *material = writer->material;
    scan__buffer_put_number(writer->buffer, material->commit_count);
    for (size_t i = 0; i < material->commit_count; i++) {
        const struct scan_commit *commit = &writer->commits[material->first_commit + i];
        scan__buffer_put(writer->buffer, ts_bytes_of(commit->oid.bytes, ts_git_hash_len(material->hash)));
        put_signed(writer->buffer, commit->time_s);
        put_signed(writer->buffer, commit->author_time_s);
        put_signed(writer->buffer, commit->author_zone_minutes);
        put_text(writer, commit->author_name);
        put_text(writer, commit->author_mail);
    }
}

static void put_locations(struct writer *writer) {
    const struct scan_material *material = writer->material;
    scan__buffer_put_number(writer->buffer, material->location_count);
    for (size_t i = 0; i < material->location_count; i++) {
        const struct scan_location *location = &writer->locations[material->first_location + i];
        const uint32_t *found = bsearch(&location->content, material->contents, material->content_count,
                                        sizeof *material->contents, compare_places);
        scan__buffer_put_number(writer->buffer, (uint64_t)(found - material->contents));
        scan__buffer_put_number(writer->buffer, location->commit == TS_REPORT_NONE
                                                    ? 0
                                                    : location->commit - material->first_commit + 1);
        put_text(writer, location->path);
        scan__buffer_put_number(writer->buffer, (uint64_t)location->place);
        scan__buffer_put_number(writer->buffer, (uint64_t)location->role);
        scan__buffer_put_number(writer->buffer, location->hit);
    }
}

void scan__material_encode(const struct scan_material *material, struct scan_buffer *buffer) {
    size_t unused;
    const struct scan_pass *pass = material->pass;
    struct writer writer = {.material = material,
                            .all = scan__hits_contents(&pass->hits, &unused),
                            .hits = scan__hits_items(&pass->hits),
                            .findings = scan__hits_findings(&pass->hits),
                            .commits = (const struct scan_commit *)(const void *)pass->commits.bytes,
                            .locations = (const struct scan_location *)(const void *)pass->locations.bytes,
                            .buffer = buffer};
    collect(&writer);
    if (writer.texts.no_memory || writer.used.no_memory) {
        buffer->no_memory = true;
    } else {
        put_tables(&writer);
        put_contents(&writer);
        put_commits(&writer);
        put_locations(&writer);
    }
    free(writer.texts.items);
    free(writer.used.items);
}

/* ---- reading material ---- */

#define NOT_YET       UINT32_MAX
/* Lower bounds of the lengths of a hit and a print in a page. A number takes at least one byte. */
#define HIT_LEN_MIN   (12 + TS_ENCODING_DEPTH)
#define PRINT_LEN_MIN (8 + SCAN_PRINT_HEAD_LEN)

struct known_text {
    struct ts_bytes bytes;
    uint32_t place; /* NOT_YET: not added to the pass */
};

struct known_finding {
    struct scan_finding_new made;
    uint32_t place;
};

struct loader {
    const struct scan_material_sink *sink;
    bool is_taking; /* second pass: adds the material of the page */
    enum ts_git_hash hash;
    const struct ts_ruleset *rules;
    struct reader reader;
    struct known_text *texts;
    size_t text_count;
    struct known_finding *findings;
    size_t finding_count;
    uint32_t *contents; /* positions of the contents in the pass; NOT_YET if not taken */
    size_t content_count;
    uint32_t *commits;
    size_t commit_count;
    struct scan_hit *hits;
    size_t hit_capacity;
};

static struct known_text *take_text(struct loader *loader) {
    size_t number = (size_t)take_below(&loader->reader, loader->text_count);
    return loader->reader.is_bad ? NULL : &loader->texts[number];
}

static uint32_t place_text(struct loader *loader, struct known_text *text) {
    if (text->place == NOT_YET)
        text->place = scan__hits_text(&loader->sink->pass->hits, text->bytes);
    return text->place;
}

static uint32_t take_text_place(struct loader *loader) {
    struct known_text *text = take_text(loader);
    return loader->is_taking && text != NULL ? place_text(loader, text) : SCAN_NO_TEXT;
}

static const struct ts_rule *find_rule(const struct ts_ruleset *rules, struct ts_bytes id) {
    for (size_t i = 0; i < rules->count; i++)
        if (ts_bytes_equal(ts_bytes_of_cstring(rules->rules[i].id), id))
            return &rules->rules[i];
    return NULL;
}

static struct scan_print take_print(struct loader *loader) {
    struct scan_print print = {.len = (uint32_t)take_below(&loader->reader, UINT32_MAX)};
    struct ts_bytes hash = take(&loader->reader, sizeof print.hash);
    struct ts_bytes head = take(&loader->reader, sizeof print.head);
    if (loader->reader.is_bad)
        return print;
    print.hash = ts_le64_load(hash.data);
    memcpy(print.head, head.data, sizeof print.head);
    return print;
}

static void take_tables(struct loader *loader) {
    struct reader *reader = &loader->reader;
    loader->text_count = take_count(reader, 1);
    loader->texts = calloc(loader->text_count + 1, sizeof *loader->texts);
    reader->is_bad = reader->is_bad || loader->texts == NULL;
    for (size_t i = 0; i < loader->text_count && !reader->is_bad; i++)
        loader->texts[i] = (struct known_text){take(reader, take_number(reader)), NOT_YET};
    loader->finding_count = take_count(reader, TS_FINDING_ID_LEN + 3 + PRINT_LEN_MIN);
    loader->findings = calloc(loader->finding_count + 1, sizeof *loader->findings);
    reader->is_bad = reader->is_bad || loader->findings == NULL;
    for (size_t i = 0; i < loader->finding_count && !reader->is_bad; i++) {
        struct known_finding *finding = &loader->findings[i];
        struct ts_bytes id = take(reader, TS_FINDING_ID_LEN);
        if (reader->is_bad)
            return;
        memcpy(finding->made.id.text, id.data, TS_FINDING_ID_LEN);
        finding->place = NOT_YET;
        finding->made.rule = find_rule(loader->rules, take(reader, take_number(reader)));
        finding->made.print = take_print(loader);
        const struct known_text *redacted = take_text(loader);
        if (reader->is_bad || finding->made.rule == NULL) {
            reader->is_bad = true;
            return;
        }
        finding->made.redacted = redacted->bytes;
    }
}

/* Reads a hit. Returns false if its finding cannot be kept. */
static bool take_hit(struct loader *loader, bool is_wanted, struct scan_hit *hit) {
    struct reader *reader = &loader->reader;
    size_t number = (size_t)take_below(reader, loader->finding_count);
    bool was_taking = loader->is_taking;
    struct known_text *around = take_text(loader);
    if (around == NULL || (!was_taking && !scan__around_is_sound(around->bytes))) {
        reader->is_bad = true;
        return true;
    }
    *hit = (struct scan_hit){.around = is_wanted ? place_text(loader, around) : SCAN_NO_TEXT};
    loader->is_taking = is_wanted;
    hit->allows = take_text_place(loader);
    hit->pragma = take_text_place(loader);
    loader->is_taking = was_taking;
    hit->line = take_number(reader);
    hit->column = take_number(reader);
    hit->end_line = take_number(reader);
    hit->end_column = take_number(reader);
    hit->at = take_number(reader);
    hit->len = take_number(reader);
    hit->confidence = (uint8_t)take_below(reader, (uint64_t)TS_CONFIDENCE_HIGH + 1);
    hit->score = (int16_t)((int64_t)take_below(reader, UINT64_C(65536)) + INT16_MIN);
    hit->depth = (uint8_t)take_below(reader, TS_ENCODING_DEPTH + 1);
    for (size_t i = 0; i < TS_ENCODING_DEPTH; i++)
        hit->encodings[i] = (uint8_t)take_below(reader, (uint64_t)TS_ENCODING_UTF16 + 1);
    if (!is_wanted || reader->is_bad)
        return true;
    struct known_finding *finding = &loader->findings[number];
    if (finding->place == NOT_YET &&
        !scan__hits_finding(&loader->sink->pass->hits, &finding->made, &finding->place))
        return false;
    hit->finding = finding->place;
    return true;
}

static void take_content(struct loader *loader, size_t index) {
    struct reader *reader = &loader->reader;
    const struct scan_material_sink *sink = loader->sink;
    struct scan_content content = {.oid = take_oid(reader, loader->hash), .target = sink->target};
    content.commit = take_oid(reader, loader->hash);
    uint64_t kind = take_number(reader);
    reader->is_bad = reader->is_bad || !is_kind(kind);
    content.kind = (enum scan_content_kind)kind;
    content.size = take_number(reader);
    struct ts_bytes evidence = take(reader, 8);
    content.evidence = reader->is_bad ? 0 : ts_le64_load(evidence.data);
    content.is_whole = true;
    const struct known_text *name = take_text(loader);
    size_t count = take_count(reader, HIT_LEN_MIN);
    if (reader->is_bad || count == 0 || count > UINT32_MAX ||
        !TS_GROW(loader->hits, loader->hit_capacity, count)) {
        reader->is_bad = true;
        return;
    }
    content.name = name->bytes;
    struct scan_known known = {
        .oid = content.oid, .size = content.size, .kind = content.kind, .evidence = content.evidence};
    bool is_wanted = loader->is_taking && (sink->wants == NULL || sink->wants(sink->ctx, &known));
    size_t kept = 0;
    for (size_t i = 0; i < count && !reader->is_bad; i++)
        kept += take_hit(loader, is_wanted, &loader->hits[kept]);
    loader->contents[index] = NOT_YET;
    if (is_wanted && kept > 0) {
        size_t before;
        (void)scan__hits_contents(&sink->pass->hits, &before);
        scan__hits_add(&sink->pass->hits, &content, loader->hits, kept);
        loader->contents[index] = (uint32_t)before;
    }
}

static void take_contents(struct loader *loader) {
    loader->content_count = take_count(&loader->reader, 2 * ts_git_hash_len(loader->hash));
    loader->contents = calloc(loader->content_count + 1, sizeof *loader->contents);
    loader->reader.is_bad = loader->reader.is_bad || loader->contents == NULL;
    for (size_t i = 0; i < loader->content_count && !loader->reader.is_bad; i++)
        take_content(loader, i);
}

static void take_commits(struct loader *loader) {
    struct reader *reader = &loader->reader;
    loader->commit_count = take_count(reader, ts_git_hash_len(loader->hash));
    loader->commits = calloc(loader->commit_count + 1, sizeof *loader->commits);
    reader->is_bad = reader->is_bad || loader->commits == NULL;
    for (size_t i = 0; i < loader->commit_count && !reader->is_bad; i++) {
        struct scan_commit commit = {.oid = take_oid(reader, loader->hash)};
        commit.time_s = take_signed(reader);
        commit.author_time_s = take_signed(reader);
        int64_t zone = take_signed(reader);
        reader->is_bad = reader->is_bad || zone < INT32_MIN || zone > INT32_MAX;
        commit.author_zone_minutes = (int32_t)zone;
        commit.author_name = take_text_place(loader);
        commit.author_mail = take_text_place(loader);
        if (loader->is_taking)
            loader->commits[i] = scan__pass_commit(loader->sink->pass, &commit);
    }
}

static void take_locations(struct loader *loader) {
    struct reader *reader = &loader->reader;
    size_t count = take_count(reader, 6);
    for (size_t i = 0; i < count && !reader->is_bad; i++) {
        size_t content = (size_t)take_below(reader, loader->content_count);
        size_t commit = (size_t)take_below(reader, loader->commit_count + 1);
        struct scan_location location = {.path = take_text_place(loader)};
        location.place = (enum ts_place)take_below(reader, (uint64_t)TS_PLACE_INPUT + 1);
        location.role = (enum scan_role)take_below(reader, (uint64_t)SCAN_REF_COUNT + 1);
        location.hit = (uint32_t)take_below(reader, UINT32_MAX);
        if (!loader->is_taking || loader->contents[content] == NOT_YET)
            continue;
        location.content = loader->contents[content];
        location.commit = commit == 0 ? TS_REPORT_NONE : loader->commits[commit - 1];
        scan__pass_location(loader->sink->pass, &location);
    }
}

static bool load(struct ts_bytes page, const struct scan_material_sink *sink, bool is_taking) {
    const struct scan_target *target = &sink->pass->targets[sink->target];
    struct loader loader = {.sink = sink,
                            .is_taking = is_taking,
                            .hash = target->hash,
                            .rules = &target->profile->rules->set,
                            .reader = {.rest = page}};
    take_tables(&loader);
    if (!loader.reader.is_bad)
        take_contents(&loader);
    if (!loader.reader.is_bad)
        take_commits(&loader);
    if (!loader.reader.is_bad)
        take_locations(&loader);
    free(loader.texts);
    free(loader.findings);
    free(loader.contents);
    free(loader.commits);
    free(loader.hits);
    return !loader.reader.is_bad && loader.reader.rest.len == 0;
}

bool scan__material_decode(struct ts_bytes page, const struct scan_material_sink *sink) {
    return load(page, sink, false) && load(page, sink, true);
}
