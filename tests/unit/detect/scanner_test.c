#include "detect/rules_check.h"
#include "support.h"

#include "base/prng.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static struct kit kit;

static int make_kit(void **state) {
    (void)state;
    kit_init(&kit, NULL);
    return 0;
}

static int drop_kit(void **state) {
    (void)state;
    kit_release(&kit);
    return 0;
}

/* A text made of lines of code, whole and cut examples of the rules, encoded examples, and noise. */
struct text {
    uint8_t bytes[96 * 1024];
    size_t len;
};

static void put(struct text *text, const void *bytes, size_t len) {
    size_t room = sizeof text->bytes - text->len;
    size_t taken = len < room ? len : room;
    memcpy(text->bytes + text->len, bytes, taken);
    text->len += taken;
}

static void put_base64(struct text *text, struct ts_bytes bytes, size_t width) {
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t column = 0;
    for (size_t i = 0; i < bytes.len; i += 3) {
        uint32_t group = (uint32_t)bytes.data[i] << 16;
        size_t have = bytes.len - i < 3 ? bytes.len - i : 3;
        if (have > 1)
            group |= (uint32_t)bytes.data[i + 1] << 8;
        if (have > 2)
            group |= bytes.data[i + 2];
        for (size_t j = 0; j < 4; j++) {
            char c = j <= have ? alphabet[group >> (18 - 6 * j) & 63] : '=';
            put(text, &c, 1);
            if (width > 0 && ++column % width == 0)
                put(text, "\n", 1);
        }
    }
}

static void put_percent(struct text *text, struct ts_bytes bytes, struct ts_prng *prng) {
    for (size_t i = 0; i < bytes.len; i++) {
        char escape[4];
        snprintf(escape, sizeof escape, "%%%02X", bytes.data[i]);
        if (bytes.data[i] == 0 || ts_prng_below(prng, 3) == 0)
            put(text, escape, 3);
        else
            put(text, bytes.data + i, 1);
    }
}

static void put_wide(struct text *text, struct ts_bytes bytes, bool big) {
    for (size_t i = 0; i < bytes.len; i++) {
        if (big)
            put(text, "", 1);
        put(text, bytes.data + i, 1);
        if (!big)
            put(text, "", 1);
    }
}

static size_t some_width(struct ts_prng *prng) {
    uint64_t kind = ts_prng_below(prng, 3);
    return kind == 0 ? 0 : kind == 1 ? 64 : 4 + ts_prng_below(prng, 16);
}

static void put_encoded(struct text *text, struct ts_bytes bytes, struct ts_prng *prng) {
    static struct text inner;
    inner.len = 0;
    switch (ts_prng_below(prng, 6)) {
    case 0:
        put_base64(text, bytes, some_width(prng));
        break;
    case 1:
        put_percent(text, bytes, prng);
        break;
    case 2:
        put_wide(text, bytes, ts_prng_below(prng, 2) == 0);
        break;
    case 3:
        put(&inner, "\xff\xfe", ts_prng_below(prng, 3));
        put_wide(&inner, bytes, ts_prng_below(prng, 2) == 0);
        put_base64(text, ts_bytes_of(inner.bytes, inner.len), some_width(prng));
        break;
    case 4:
        put_wide(&inner, bytes, ts_prng_below(prng, 2) == 0);
        put_percent(text, ts_bytes_of(inner.bytes, inner.len), prng);
        break;
    default:
        put_base64(&inner, bytes, 0);
        put_base64(text, ts_bytes_of(inner.bytes, inner.len), some_width(prng));
        break;
    }
}

static void put_something(struct text *text, struct ts_prng *prng) {
    static const char *const lines[] = {"int main(void) {\n",
                                        "    return 0;\n",
                                        "\n",
                                        "password = \"",
                                        "token: ",
                                        "https://user:",
                                        "aws_secret = ",
                                        "# 0123456789abcdef0123456789abcdef\n",
                                        "the quick brown fox jumps over the lazy dog ",
                                        "=",
                                        "%3D",
                                        "datadog ",
                                        "\0\0\0"};
    const struct ts_rule *rule = &kit.rules.rules[ts_prng_below(prng, kit.rules.count)];
    const struct ts_rule_example *example = &rule->matches[ts_prng_below(prng, rule->match_count)];
    switch (ts_prng_below(prng, 8)) {
    case 0:
    case 1:
        put(text, example->text.data, example->text.len);
        break;
    case 2: {
        size_t from = ts_prng_below(prng, example->text.len);
        put(text, example->text.data + from, ts_prng_below(prng, example->text.len - from) + 1);
        break;
    }
    case 3:
        put_encoded(text, example->text, prng);
        break;
    case 4:
        for (size_t i = ts_prng_below(prng, 400); i > 0; i--) {
            uint8_t byte = (uint8_t)ts_prng_next(prng);
            put(text, &byte, 1);
        }
        break;
    default: {
        const char *line = lines[ts_prng_below(prng, sizeof lines / sizeof lines[0])];
        put(text, line, strlen(line));
        break;
    }
    }
}

static void make_text(struct text *text, struct ts_prng *prng, size_t len) {
    text->len = 0;
    while (text->len < len)
        put_something(text, prng);
    text->len = len;
}

static void every_rule_holds_by_its_examples(void **state) {
    (void)state;
    for (size_t i = 0; i < kit.rules.count; i++) {
        const struct ts_rule *rule = &kit.rules.rules[i];
        for (size_t j = 0; j < rule->match_count; j++) {
            struct list list = scan_raw(&kit, (struct ts_scanner_input){.bytes = rule->matches[j].text});
            bool found = false;
            for (size_t k = 0; k < list.count && !found; k++)
                found = list.matches[k].rule == i &&
                        ts_bytes_equal(list.matches[k].secret, rule->matches[j].secret);
            if (!found)
                fail_msg("%s does not find its example %zu", rule->id, j);
            list_release(&list);
        }
    }
    assert_true(kit.rules.count >= 80);
}

static bool finds_example(const struct kit *with, struct ts_scanner_input scan, uint32_t rule,
                          struct ts_bytes secret) {
    struct list list = {0};
    assert_true(ts_scanner_scan(with->scanner, &scan, list_add, &list));
    bool found = false;
    for (size_t i = 0; i < list.count && !found; i++)
        found = list.matches[i].rule == rule && ts_bytes_equal(list.matches[i].secret, secret);
    list_release(&list);
    return found;
}

/* Puts each example after fillers of many lengths and kinds, so that it is at every position of a vector and
 * in the last vector of the input, where vector code often has errors. */
static void place_examples(const struct kit *with, size_t filler_max) {
    static const char *const fillers[] = {"ABC", ";\n", " the quick brown fox", "\n"};
    static struct text text;
    for (uint32_t i = 0; i < with->rules.count; i++) {
        const struct ts_rule *rule = &with->rules.rules[i];
        for (size_t len = 0; len < filler_max; len++) {
            const char *filler = fillers[len % 4];
            const struct ts_rule_example *example = &rule->matches[len / 4 % rule->match_count];
            text.len = 0;
            while (text.len < len)
                put(&text, filler, len - text.len < strlen(filler) ? len - text.len : strlen(filler));
            put(&text, "\n", 1);
            size_t begin = text.len;
            put(&text, example->text.data, example->text.len);
            struct ts_scanner_input scan = {.bytes = ts_bytes_of(text.bytes, text.len)};
            if (!finds_example(with, scan, i, example->secret))
                fail_msg("%s is not found behind %zu bytes", rule->id, begin);
            /* A scan of changed bytes also uses the database of the gates of long rules. */
            struct ts_span changed = {begin, example->text.len};
            scan.changed = &changed;
            scan.changed_count = 1;
            if (!finds_example(with, scan, i, example->secret))
                fail_msg("%s is not found behind %zu unchanged bytes", rule->id, begin);
        }
    }
}

static void compare_gated(struct ts_bytes bytes, const char *what) {
    struct list gated = scan_raw(&kit, (struct ts_scanner_input){.bytes = bytes});
    struct list all = scan_raw(&kit, (struct ts_scanner_input){.bytes = bytes, .ungated = true});
    list_settle(&gated, &kit.rules);
    list_settle(&all, &kit.rules);
    assert_same(&kit, &gated, &all, what);
    list_release(&gated);
    list_release(&all);
}

/* In the text of a program, an escape such as \n puts its letter directly before the token. */
static void a_token_is_found_after_an_escape(void **state) {
    (void)state;
    static const char *const escapes[] = {"\\n", "\\u003d", "\033[31m"};
    static struct text text;
    size_t rules = 0;
    for (uint32_t i = 0; i < kit.rules.count; i++) {
        const struct ts_rule *rule = &kit.rules.rules[i];
        if (!strstr(rule->written, "{{start}}(?<secret>"))
            continue;
        rules++;
        for (size_t j = 0; j < 3 * rule->match_count; j++) {
            struct ts_bytes example = rule->matches[j / 3].text;
            struct ts_bytes secret = rule->matches[j / 3].secret;
            const uint8_t *place = memmem(example.data, example.len, secret.data, secret.len);
            size_t before = (size_t)(place - example.data);
            if (rule->keywords.count > 0 && before + strlen(escapes[j % 3]) > rule->distance)
                continue; /* the escape moves the token too far from its keyword */
            text.len = 0;
            put(&text, example.data, before);
            put(&text, escapes[j % 3], strlen(escapes[j % 3]));
            put(&text, place, example.len - before);
            struct ts_scanner_input scan = {.bytes = ts_bytes_of(text.bytes, text.len)};
            if (!finds_example(&kit, scan, i, secret))
                fail_msg("%s is not found behind %s", rule->id, escapes[j % 3]);
            compare_gated(scan.bytes, rule->id);
        }
    }
    assert_true(rules > 90);
}

static void a_secret_is_found_wherever_it_occurs(void **state) {
    (void)state;
    place_examples(&kit, 300);
}

/* Vectorscan has special cases for few literals, and for literals with common parts. */
static void few_gates_are_found_at_every_position(void **state) {
    (void)state;
    static const struct {
        const char *kind;
        const char *texts[3]; /* each pattern is the literal itself */
    } sets[] = {
        {"literals", {"tok_", NULL, NULL}},
        {"literals", {"tok_", "big_", NULL}},
        {"literals", {"tok_", "big_", "larger_"}},
        {"literals", {"tok_", "tik_", NULL}},
        {"literals", {"tok_", "toe_", NULL}},
        {"literals", {"kit-", "corp-key-", NULL}},
        {"literals", {"abc", "xbz", "qbqbq"}},
        {"literals", {"TOK", "ABK", "XYZK"}},
        {"anchors", {"tok_[a-z0-9]{8}", NULL, NULL}},
        {"anchors", {"tok_[a-z0-9]{8}", "big_[a-z0-9]{20}", NULL}},
        {"anchors", {"(?i)tok_", "(?i)big_", "x_"}},
        {"keywords", {"acme_", "zed_", NULL}},
    };
    for (size_t set = 0; set < sizeof sets / sizeof sets[0]; set++) {
        char rules[3000] = "rules:\n";
        for (size_t i = 0; i < 3 && sets[set].texts[i]; i++) {
            size_t used = strlen(rules);
            const char *gate = sets[set].texts[i];
            const char *literal = strncmp(gate, "(?i)", 4) == 0 ? gate + 4 : gate;
            int len = (int)strcspn(literal, "[");
            if (strcmp(sets[set].kind, "keywords") == 0)
                snprintf(rules + used, sizeof rules - used,
                         "  - {id: r%zu, name: N, severity: low, gate: token, keywords: ['%s'], reach: 20, "
                         "pattern: '\\b(?<secret>[a-z0-9]{20})\\b', examples: {match: [{text: "
                         "'%s7 7a2b9c4d1e6f3g8h5j0k', secret: '7a2b9c4d1e6f3g8h5j0k'}]}}\n",
                         i, gate, gate);
            else
                snprintf(rules + used, sizeof rules - used,
                         "  - {id: r%zu, name: N, severity: low, gate: {%s: ['%s'], lead: 30}, reach: %u, "
                         "pattern: '\\b(?<secret>%.*s[a-z0-9]{20})\\b', examples: {match: [{text: "
                         "'%.*s7a2b9c4d1e6f3g8h5j0k', secret: '%.*s7a2b9c4d1e6f3g8h5j0k'}]}}\n",
                         i, sets[set].kind, gate, i == 0 ? 40U : 600U, len, literal, len, literal, len,
                         literal);
        }
        struct kit few;
        kit_init(&few, rules);
        place_examples(&few, 300);
        kit_release(&few);
    }
}

static void print_problem(void *context, const struct ts_detect_error *problem) {
    (void)context;
    print_error("%s\n", problem->text);
}

static void the_builtin_rules_pass_the_check(void **state) {
    (void)state;
    assert_int_equal(ts_rules_check(&kit.rules, print_problem, NULL), 0);
}

static void the_builtin_rules_say_what_leaks_and_how_to_revoke_it(void **state) {
    (void)state;
    for (size_t i = 0; i < kit.rules.count; i++) {
        const struct ts_rule *rule = &kit.rules.rules[i];
        if (!rule->description[0] || !rule->revoke[0] || !rule->url[0])
            fail_msg("%s:%u: rule '%s' lacks description, revoke or url", rule->file, rule->line, rule->id);
    }
}

static void gates_find_the_same_in_generated_texts(void **state) {
    (void)state;
    static struct text text;
    struct ts_prng prng;
    ts_prng_init(&prng, 11);
    for (int round = 0; round < 12; round++) {
        make_text(&text, &prng, 3000 + ts_prng_below(&prng, 12000));
        compare_gated(ts_bytes_of(text.bytes, text.len), "generated text");
    }
}

/* Compares scans with and without gates over the files of a folder and its subfolders, up to `budget` bytes.
 * Returns the rest of the budget. */
static size_t compare_folder(const char *folder, size_t budget) {
    DIR *open_folder = opendir(folder);
    if (!open_folder)
        return budget;
    struct dirent *entry;
    while (budget > 0 && (entry = readdir(open_folder))) {
        char path[1024];
        struct stat status;
        int len = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] == '.' || len < 0 || (size_t)len >= sizeof path || lstat(path, &status) != 0)
            continue;
        if (S_ISDIR(status.st_mode))
            budget = compare_folder(path, budget);
        if (!S_ISREG(status.st_mode) || status.st_size == 0)
            continue;
        size_t size = (size_t)status.st_size < 50000 ? (size_t)status.st_size : 50000;
        uint8_t *bytes = malloc(size);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        assert_non_null(bytes);
        if (fd >= 0 && read(fd, bytes, size) == (ssize_t)size)
            compare_gated(ts_bytes_of(bytes, size), path);
        if (fd >= 0)
            close(fd);
        free(bytes);
        budget = budget > size ? budget - size : 0;
    }
    closedir(open_folder);
    return budget;
}

static void gates_find_the_same_in_files_of_this_machine(void **state) {
    (void)state;
    compare_folder("/usr/include", 600000);
    compare_folder("/usr/share/doc", 300000);
    compare_folder("/usr/lib/python3", 600000);
    compare_folder("/etc", 300000);
}

/* A change of a text: `inserted` bytes replace the `len` bytes at `from`. */
struct change {
    size_t from;
    size_t len;
    size_t inserted;
};

static void carry_matches(const struct list *before, const struct change *change, struct list *merged) {
    for (size_t i = 0; i < before->count; i++) {
        const struct ts_match *match = &before->matches[i];
        size_t end = match->depends.from + match->depends.len;
        merged->shift = 0;
        if (end <= change->from && !match->depends_on_end) {
            list_add(merged, match);
        } else if (match->depends.from >= change->from + change->len && !match->depends_on_start) {
            merged->shift = change->inserted - change->len;
            list_add(merged, match);
        }
    }
}

/* Returns the landmarks of the text that the scanner scanned last, moved to their places in the changed
 * text. */
static struct ts_landmarks carry_landmarks(const struct change *change) {
    static struct ts_landmark carried[TS_LANDMARKS_MAX];
    struct ts_landmarks old = ts_scanner_landmarks(kit.scanner);
    struct ts_landmarks kept = {.are_known = old.are_known, .items = carried};
    for (size_t i = 0; i < old.count; i++) {
        struct ts_landmark landmark = old.items[i];
        if (landmark.end >= change->from + change->len + ts_detector_landmark_before(kit.detector))
            landmark.end += (uint32_t)(change->inserted - change->len);
        else if (landmark.end >= change->from)
            continue;
        carried[kept.count++] = landmark;
    }
    return kept;
}

/* After any change, a scan of only the changed bytes gives the same result as a complete scan, with and
 * without landmarks. The landmarks of both scans are equal. */
static void changed_bytes_and_carried_matches_are_a_whole_scan(void **state) {
    (void)state;
    static struct text old;
    static struct text new;
    static struct text inserted;
    static struct ts_landmark found[TS_LANDMARKS_MAX];
    size_t landmarks_seen = 0;
    struct ts_prng prng;
    ts_prng_init(&prng, 23);
    for (int round = 0; round < 300; round++) {
        make_text(&old, &prng, 2000 + ts_prng_below(&prng, 40000));
        /* new = old with one part replaced by other bytes, or removed. */
        struct change change = {.from = ts_prng_below(&prng, old.len + 1)};
        size_t most = old.len - change.from;
        change.len = ts_prng_below(&prng, 3) == 0 ? 0 : ts_prng_below(&prng, most + 1) % 300;
        inserted.len = 0;
        while (ts_prng_below(&prng, 2) == 0)
            put_something(&inserted, &prng);
        change.inserted = inserted.len;
        new.len = 0;
        put(&new, old.bytes, change.from);
        put(&new, inserted.bytes, inserted.len);
        put(&new, old.bytes + change.from + change.len, most - change.len);

        struct list before =
            scan_raw(&kit, (struct ts_scanner_input){.bytes = ts_bytes_of(old.bytes, old.len)});
        struct ts_span changed = {change.from, inserted.len};
        struct ts_scanner_input scan = {
            .bytes = ts_bytes_of(new.bytes, new.len), .changed = &changed, .changed_count = 1};
        if (round % 2 == 0)
            scan.landmarks = carry_landmarks(&change);
        struct list merged = scan_raw(&kit, scan);
        struct ts_landmarks landmarks = ts_scanner_landmarks(kit.scanner);
        assert_int_equal(landmarks.are_known, round % 2 == 0);
        if (landmarks.count > 0)
            memcpy(found, landmarks.items, landmarks.count * sizeof *found);
        carry_matches(&before, &change, &merged);
        struct list whole = scan_text(&kit, new.bytes, new.len);
        list_settle(&merged, &kit.rules);
        assert_same(&kit, &merged, &whole, "changed and carried");
        if (landmarks.are_known) {
            struct ts_landmarks all = ts_scanner_landmarks(kit.scanner);
            assert_int_equal(landmarks.count, all.count);
            for (size_t i = 0; i < all.count; i++) {
                assert_int_equal(found[i].end, all.items[i].end);
                assert_int_equal(found[i].gate, all.items[i].gate);
            }
            landmarks_seen += all.count;
        }
        list_release(&before);
        list_release(&merged);
        list_release(&whole);
    }
    assert_true(landmarks_seen > 100);
}

/* Shows that the test above can fail: if a match of a long rule begins far before the change, only its
 * landmark reveals the match. */
static void without_its_landmark_a_long_match_is_not_found(void **state) {
    (void)state;
    static struct text text;
    const struct ts_rule *rule = ts_ruleset_find(&kit.rules, "private-key");
    struct ts_bytes key = rule->matches[0].text;
    const uint8_t *end = memchr(key.data + 1, '\n', key.len);
    size_t head = (size_t)(end - key.data);
    text.len = 0;
    put(&text, key.data, head);
    for (int i = 0; i < 3000; i++)
        put(&text, "\n", 1);
    put(&text, end, key.len - head);
    struct ts_span changed = {text.len - 40, 1};
    struct ts_scanner_input scan = {
        .bytes = ts_bytes_of(text.bytes, text.len), .changed = &changed, .changed_count = 1};
    struct list unknown = scan_raw(&kit, scan);
    assert_false(ts_scanner_landmarks(kit.scanner).are_known);
    struct list whole = scan_raw(&kit, (struct ts_scanner_input){.bytes = scan.bytes});
    struct ts_landmarks all = ts_scanner_landmarks(kit.scanner);
    assert_true(all.count >= 2);
    struct ts_landmark landmark = all.items[0];
    assert_int_equal(landmark.end, head);
    scan.landmarks = (struct ts_landmarks){.are_known = true, .count = 1, .items = &landmark};
    struct list known = scan_raw(&kit, scan);
    scan.landmarks.count = 0;
    struct list none = scan_raw(&kit, scan);
    assert_int_equal(unknown.count, whole.count);
    assert_int_equal(known.count, whole.count);
    assert_true(whole.count > 0);
    assert_int_equal(none.count, 0);
    list_release(&unknown);
    list_release(&whole);
    list_release(&known);
    list_release(&none);
}

/* The name of a value may begin before the match. A change of only the name changes the result. */
static void a_changed_name_is_judged_again(void **state) {
    (void)state;
    static const char text[] = "##########  #########  auth_token = \"Fake7Turnstone2Only9A4Test6Key8Z\"\n";
    static const char no_text[] =
        "##########  #########  next_token = \"Fake7Turnstone2Only9A4Test6Key8Z\"\n";
    const char *name = strstr(text, "auth");
    struct ts_span changed = {(size_t)(name - text), 4};
    struct ts_scanner_input scan = {
        .bytes = ts_bytes_of_cstring(text), .changed = &changed, .changed_count = 1};
    struct list list = scan_raw(&kit, scan);
    assert_int_equal(list.count, 1);
    list_release(&list);
    scan.bytes = ts_bytes_of_cstring(no_text);
    list = scan_raw(&kit, scan);
    assert_int_equal(list.count, 0);
    list_release(&list);
}

/* The file of a service account is one finding, although several rules match its key, the id of the key and
 * the form of the file. */
static void a_key_in_a_file_of_an_account_is_found_once(void **state) {
    (void)state;
    const struct ts_rule *rule = ts_ruleset_find(&kit.rules, "gcp-service-account");
    assert_non_null(rule);
    struct ts_bytes example = rule->matches[0].text;
    static const char id[] = "\"private_key_id\": \"0\"";
    static const char whole_id[] = "\"private_key_id\": \"fa4e7dead1beef2c0ffee5bad6f00d93fa4e7dea\"";
    const uint8_t *place = memmem(example.data, example.len, id, sizeof id - 1);
    assert_non_null(place);
    size_t before = (size_t)(place - example.data);
    static struct text text;
    text.len = 0;
    put(&text, example.data, before);
    put(&text, whole_id, sizeof whole_id - 1);
    put(&text, place + sizeof id - 1, example.len - before - (sizeof id - 1));
    struct list list = scan_text(&kit, text.bytes, text.len);
    assert_int_equal(list.count, 1);
    assert_string_equal(rule_of(&kit, &list.matches[0]), "gcp-service-account");
    list_release(&list);
}

/* Shows that tests of changed bytes can fail: if no bytes are reported as changed, the match is missing. */
static void what_is_changed_is_not_found_without_looking(void **state) {
    (void)state;
    const struct ts_rule *rule = ts_ruleset_find(&kit.rules, "gitlab-pat");
    struct ts_span changed = {0, 0};
    struct list list =
        scan_raw(&kit, (struct ts_scanner_input){.bytes = rule->matches[0].text, .changed = &changed});
    assert_int_equal(list.count, 0);
    list_release(&list);
}

static void windows_with_overlap_find_what_one_scan_finds(void **state) {
    (void)state;
    static struct text text;
    struct ts_prng prng;
    ts_prng_init(&prng, 31);
    size_t overlap = ts_detector_reach(kit.detector);
    for (int round = 0; round < 8; round++) {
        make_text(&text, &prng, 60000 + ts_prng_below(&prng, 30000));
        struct list whole = scan_text(&kit, text.bytes, text.len);
        struct list parts = {0};
        size_t step = 3000 + ts_prng_below(&prng, 20000);
        for (size_t at = 0; at < text.len; at += step) {
            size_t end = text.len - at > step + overlap ? at + step + overlap : text.len;
            struct ts_scanner_input scan = {.bytes = ts_bytes_of(text.bytes + at, end - at),
                                            .continues_before = at > 0,
                                            .continues_after = end < text.len};
            parts.shift = at;
            assert_true(ts_scanner_scan(kit.scanner, &scan, list_add, &parts));
        }
        list_settle(&parts, &kit.rules);
        assert_same(&kit, &parts, &whole, "windows");
        assert_true(whole.count > 0);
        list_release(&whole);
        list_release(&parts);
    }
}

/* Without an overlap, a match across the end of a window is in neither window. Neither window reports the
 * match wrongly. */
static void a_match_across_the_end_of_a_window_is_not_reported(void **state) {
    (void)state;
    const struct ts_rule *rule = ts_ruleset_find(&kit.rules, "gitlab-pat");
    struct ts_bytes text = rule->matches[0].text;
    for (size_t cut = 0; cut <= text.len; cut++) {
        struct ts_scanner_input first = {.bytes = ts_bytes_first(text, cut), .continues_after = true};
        struct ts_scanner_input second = {.bytes = ts_bytes_skip(text, cut), .continues_before = true};
        struct list found = scan_raw(&kit, first);
        assert_int_equal(found.count, 0);
        list_release(&found);
        found = scan_raw(&kit, second);
        for (size_t i = 0; i < found.count; i++)
            assert_false(found.matches[i].depends_on_start);
        list_release(&found);
    }
}

static void an_empty_input_has_nothing(void **state) {
    (void)state;
    struct list list = scan_text(&kit, NULL, 0);
    assert_int_equal(list.count, 0);
    list_release(&list);
}

/* Scans inputs that make a backtracking matcher slow. The test ends because the steps are bounded. It does
 * not measure the speed. */
static void no_input_takes_unbounded_steps(void **state) {
    (void)state;
    static const char *const seeds[] = {"-----BEGIN PRIVATE KEY-----\n",
                                        "password='",
                                        "postgres://a:",
                                        "eyJ.eyJ",
                                        "aws_secret=a1b2",
                                        "Server=;Password=",
                                        "machine ",
                                        "curl -u ",
                                        "%41",
                                        "AKIA",
                                        "\"service_account\"",
                                        ".eyJ",
                                        "A\0",
                                        "LS0tLS1CRUdJTi",
                                        "jdbc:a://a;"};
    static uint8_t bytes[200000];
    for (size_t i = 0; i < sizeof seeds / sizeof seeds[0]; i++) {
        size_t len = i == 12 ? 2 : strlen(seeds[i]);
        for (size_t at = 0; at < sizeof bytes; at++)
            bytes[at] = (uint8_t)seeds[i][at % len];
        struct list list = scan_text(&kit, bytes, sizeof bytes);
        list_release(&list);
    }
}

struct stopping {
    atomic_bool stop;
    size_t count;
};

static void stop_at_match(void *context, const struct ts_match *match) {
    (void)match;
    struct stopping *stopping = context;
    stopping->count++;
    atomic_store(&stopping->stop, true);
}

static void a_stop_is_noticed_at_the_next_place_to_search(void **state) {
    (void)state;
    static uint8_t bytes[400000];
    struct ts_bytes text = ts_ruleset_find(&kit.rules, "gitlab-pat")->matches[0].text;
    for (size_t at = 0; at < sizeof bytes; at++)
        bytes[at] = at % (text.len + 1) < text.len ? text.data[at % (text.len + 1)] : '\n';
    for (int ungated = 0; ungated < 2; ungated++) {
        struct stopping stopping = {.count = 0};
        struct ts_scanner_input scan = {
            .bytes = ts_bytes_of(bytes, sizeof bytes), .ungated = ungated == 1, .stop = &stopping.stop};
        uint64_t runs = ts_scanner_counts(kit.scanner).pattern_runs;
        assert_true(ts_scanner_scan(kit.scanner, &scan, stop_at_match, &stopping));
        assert_int_equal(stopping.count, 1);
        assert_true(ts_scanner_counts(kit.scanner).pattern_runs - runs <= kit.rules.count + 1);
        runs = ts_scanner_counts(kit.scanner).pattern_runs;
        assert_true(ts_scanner_scan(kit.scanner, &scan, stop_at_match, &stopping));
        assert_int_equal(ts_scanner_counts(kit.scanner).pattern_runs, runs);
    }
}

/* The work of one of several threads that share a detector. */
struct worker {
    struct ts_detector *detector;
    const struct text *text;
    struct list found;
};

static void *work(void *context) {
    struct worker *worker = context;
    struct ts_scanner *scanner = ts_scanner_new(worker->detector);
    struct ts_scanner_input scan = {.bytes = ts_bytes_of(worker->text->bytes, worker->text->len)};
    if (scanner && !ts_scanner_scan(scanner, &scan, list_add, &worker->found))
        worker->found.count = 0;
    ts_scanner_free(scanner);
    return NULL;
}

static void threads_share_a_detector(void **state) {
    (void)state;
    enum { THREADS = 4 };
    static struct text text;
    struct ts_prng prng;
    ts_prng_init(&prng, 41);
    make_text(&text, &prng, 60000);
    struct kit fresh;
    kit_init(&fresh, NULL); /* no pattern is compiled yet, and all threads need the same patterns at once */
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.detector = fresh.detector, .text = &text};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    struct list expected = scan_text(&kit, text.bytes, text.len);
    assert_true(expected.count > 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        list_settle(&workers[i].found, &kit.rules);
        assert_same(&kit, &workers[i].found, &expected, "a thread");
        list_release(&workers[i].found);
    }
    list_release(&expected);
    kit_release(&fresh);
}

static void a_long_line_of_base64_is_decoded_wherever_it_begins(void **state) {
    (void)state;
    static struct text inner;
    static struct text text;
    const struct ts_rule *rule = ts_ruleset_find(&kit.rules, "gitlab-pat");
    for (size_t lead = 0; lead < 9; lead++) {
        inner.len = 0;
        text.len = 0;
        for (size_t i = 0; i < 20000 + lead; i++)
            put(&inner, i % 60 == 59 ? "\n" : &"turnstone "[i % 10], 1);
        put(&inner, " ", 1);
        put(&inner, rule->matches[0].text.data, rule->matches[0].text.len);
        put_base64(&text, ts_bytes_of(inner.bytes, inner.len), lead % 2 * 76);
        struct list list = scan_text(&kit, text.bytes, text.len);
        assert_int_equal(list.count, 1);
        assert_string_equal(rule_of(&kit, &list.matches[0]), "gitlab-pat");
        assert_int_equal(list.matches[0].depth, 1);
        assert_int_equal(list.matches[0].encodings[0], TS_ENCODING_BASE64);
        assert_true(ts_bytes_equal(list.matches[0].secret, rule->matches[0].secret));
        list_release(&list);
    }
}

/* Secrets of rules with a long reach are found in base64, in wide text and in percent encoding, even if
 * 25,000 bytes of plain text follow in the same encoding. */
static void secrets_of_long_rules_are_found_in_encoded_text(void **state) {
    (void)state;
    static struct text inner;
    static struct text text;
    static const char *const ids[] = {"jwt", "private-key"};
    for (size_t i = 0; i < 8; i++) {
        const struct ts_rule *rule = ts_ruleset_find(&kit.rules, ids[i % 2]);
        inner.len = 0;
        text.len = 0;
        put(&inner, "auth=", 5);
        put(&inner, rule->matches[0].text.data, rule->matches[0].text.len);
        put(&inner, "\n", 1);
        for (size_t line = 0; line < 1000; line++)
            put(&inner, "some plain line of a log\n", 25);
        switch (i / 2) {
        case 0:
            put_base64(&text, ts_bytes_of(inner.bytes, inner.len), 0);
            break;
        case 1:
            put_base64(&text, ts_bytes_of(inner.bytes, inner.len), 76);
            break;
        case 2:
            for (size_t j = 0; j < inner.len; j++) {
                put(&text, inner.bytes + j, 1);
                put(&text, "", 1);
            }
            break;
        default:
            for (size_t j = 0; j < inner.len; j++) {
                char escape[4];
                snprintf(escape, sizeof escape, "%%%02X", (unsigned)inner.bytes[j]);
                bool is_plain = inner.bytes[j] > ' ';
                put(&text, is_plain ? (const void *)(inner.bytes + j) : escape, is_plain ? 1 : 3);
            }
        }
        struct list list = scan_text(&kit, text.bytes, text.len);
        list_settle(&list, &kit.rules);
        assert_int_equal(list.count, 1);
        assert_string_equal(rule_of(&kit, &list.matches[0]), ids[i % 2]);
        assert_true(ts_bytes_equal(list.matches[0].secret, rule->matches[0].secret));
        list_release(&list);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule_holds_by_its_examples),
        cmocka_unit_test(a_token_is_found_after_an_escape),
        cmocka_unit_test(a_secret_is_found_wherever_it_occurs),
        cmocka_unit_test(few_gates_are_found_at_every_position),
        cmocka_unit_test(the_builtin_rules_pass_the_check),
        cmocka_unit_test(the_builtin_rules_say_what_leaks_and_how_to_revoke_it),
        cmocka_unit_test(gates_find_the_same_in_generated_texts),
        cmocka_unit_test(gates_find_the_same_in_files_of_this_machine),
        cmocka_unit_test(changed_bytes_and_carried_matches_are_a_whole_scan),
        cmocka_unit_test(without_its_landmark_a_long_match_is_not_found),
        cmocka_unit_test(a_changed_name_is_judged_again),
        cmocka_unit_test(a_key_in_a_file_of_an_account_is_found_once),
        cmocka_unit_test(what_is_changed_is_not_found_without_looking),
        cmocka_unit_test(windows_with_overlap_find_what_one_scan_finds),
        cmocka_unit_test(threads_share_a_detector),
        cmocka_unit_test(a_match_across_the_end_of_a_window_is_not_reported),
        cmocka_unit_test(an_empty_input_has_nothing),
        cmocka_unit_test(no_input_takes_unbounded_steps),
        cmocka_unit_test(a_stop_is_noticed_at_the_next_place_to_search),
        cmocka_unit_test(secrets_of_long_rules_are_found_in_encoded_text),
        cmocka_unit_test(a_long_line_of_base64_is_decoded_wherever_it_begins),
    };
    return cmocka_run_group_tests(tests, make_kit, drop_kit);
}
