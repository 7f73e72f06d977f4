/*
 * bench/detect [FOLDER...]: how fast files are scanned, compared with a bare loop over the same bytes. Prints
 * JSON.
 *
 * The files of the folders (/usr/include and /usr/share when none is given), up to 128 MB, are read into
 * memory first. Files above 8 MB are left out. A figure is the best of several passes; `ungated` has only
 * one pass.
 *
 *     bare           sums every byte, eight at a time: the cost of reading the memory
 *     gates          Vectorscan over every byte, with the literals and anchors of all rules, and nothing else
 *     runs           the token pass over every byte, and nothing else
 *     gated          a real scan: gates, runs, patterns, validators, encoded text
 *     plain          like gated, without encoded text
 *     changed        like gated, with 64 bytes changed in every 4,096; the rate counts all bytes of the files
 *     ten_times      like gated, with nine more rules for each rule: generated ones, with keywords and a shape
 *     ungated        every rule at every offset, on every 64th file
 */
#include "compiled.h"
#include "token_runs.h"

#include "builtin/builtin.h"
#include "detect/scanner.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PASSES = 5, FILES_MAX = 100000, GENERATED_TEXT_SIZE = 400 };
static const size_t bytes_max = (size_t)128 << 20;

struct corpus {
    uint8_t *bytes;
    size_t len;
    size_t starts[FILES_MAX + 1];
    size_t count;
};

static volatile uint64_t sink;

static void read_file(struct corpus *corpus, const char *path, size_t size) {
    if (size == 0 || size > ((size_t)8 << 20) || size > bytes_max - corpus->len || corpus->count == FILES_MAX)
        return;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return;
    if (read(fd, corpus->bytes + corpus->len, size) == (ssize_t)size) {
        corpus->len += size;
        corpus->starts[++corpus->count] = corpus->len;
    }
    close(fd);
}

static void read_folder(struct corpus *corpus, const char *folder) {
    DIR *opened = opendir(folder);
    struct dirent *entry;
    while (opened && (entry = readdir(opened))) {
        char path[2048];
        struct stat status;
        int len = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] == '.' || len < 0 || (size_t)len >= sizeof path || lstat(path, &status) != 0)
            continue;
        if (S_ISDIR(status.st_mode))
            read_folder(corpus, path);
        else if (S_ISREG(status.st_mode))
            read_file(corpus, path, (size_t)status.st_size);
    }
    if (opened)
        closedir(opened);
}

struct work {
    const struct corpus *corpus;
    struct ts_detector *detector;
    struct ts_scanner *scanner;
    hs_scratch_t *scratch;
    bool ungated;
    bool not_decoded;
    size_t stride; /* use every Nth file */
    uint64_t found;
};

static void count_match(void *context, const struct ts_match *match) {
    (void)match;
    (*(uint64_t *)context)++;
}

static size_t pass_scan(struct work *work) {
    size_t done = 0;
    work->found = 0;
    for (size_t i = 0; i < work->corpus->count; i += work->stride) {
        size_t from = work->corpus->starts[i];
        struct ts_scanner_input scan = {
            .bytes = ts_bytes_of(work->corpus->bytes + from, work->corpus->starts[i + 1] - from),
            .ungated = work->ungated,
            .not_decoded = work->not_decoded};
        (void)ts_scanner_scan(work->scanner, &scan, count_match, &work->found);
        done += scan.bytes.len;
    }
    return done;
}

/* Scans every file as if 64 bytes in every 4,096 had changed and the other bytes were known to contain no
 * gate. */
static size_t pass_changed(struct work *work) {
    static struct ts_span spans[((size_t)8 << 20) / 4096 + 1];
    work->found = 0;
    for (size_t i = 0; i < work->corpus->count; i++) {
        size_t from = work->corpus->starts[i];
        size_t len = work->corpus->starts[i + 1] - from;
        size_t count = 0;
        for (size_t at = 0; at + 64 <= len; at += 4096)
            spans[count++] = (struct ts_span){at, 64};
        struct ts_scanner_input scan = {.bytes = ts_bytes_of(work->corpus->bytes + from, len),
                                        .changed = spans,
                                        .changed_count = count,
                                        .landmarks = {.are_known = true}};
        (void)ts_scanner_scan(work->scanner, &scan, count_match, &work->found);
    }
    return work->corpus->len;
}

static size_t pass_bare(struct work *work) {
    uint64_t sum = 0;
    for (size_t i = 0; i + 8 <= work->corpus->len; i += 8) {
        uint64_t word;
        memcpy(&word, work->corpus->bytes + i, 8);
        sum += word;
    }
    sink = sum;
    return work->corpus->len;
}

static int on_gate(unsigned id, unsigned long long from, unsigned long long to, unsigned flags,
                   void *context) {
    (void)id, (void)from, (void)to, (void)flags;
    (*(uint64_t *)context)++;
    return 0;
}

static size_t pass_gates(struct work *work) {
    work->found = 0;
    for (size_t i = 0; i < work->corpus->count; i++) {
        size_t from = work->corpus->starts[i];
        (void)hs_scan(work->detector->databases[DETECT_GATES], (const char *)work->corpus->bytes + from,
                      (unsigned)(work->corpus->starts[i + 1] - from), 0, work->scratch, on_gate,
                      &work->found);
    }
    return work->corpus->len;
}

static void on_run(void *context, struct ts_span run) {
    (void)run;
    (*(uint64_t *)context)++;
}

static size_t pass_runs(struct work *work) {
    work->found = 0;
    detect_classify *classify = detect__classify_choose();
    struct detect_run_visitor visitor = {.context = &work->found, .run = on_run};
    for (size_t i = 0; i < work->corpus->count; i++) {
        size_t from = work->corpus->starts[i];
        struct ts_bytes bytes = ts_bytes_of(work->corpus->bytes + from, work->corpus->starts[i + 1] - from);
        detect__token_runs(classify, bytes, (struct ts_span){0, bytes.len}, 0, &visitor);
    }
    return work->corpus->len;
}

static uint64_t processor_ns(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static void measure(const char *name, struct work *work, size_t (*pass)(struct work *), int passes,
                    bool last) {
    uint64_t best = UINT64_MAX;
    size_t bytes = 0;
    for (int i = 0; i < passes; i++) {
        uint64_t begin = processor_ns();
        bytes = pass(work);
        uint64_t took = processor_ns() - begin;
        best = took < best ? took : best;
    }
    printf("    {\"name\": \"%s\", \"mb_per_s\": %.1f, \"bytes\": %zu, \"rules\": %zu, \"found\": %llu}%s\n",
           name, (double)bytes * 1000 / (double)best, bytes, work->detector->rules->count,
           (unsigned long long)work->found, last ? "" : ",");
}

/* Adds nine generated rules for each rule. Each new rule has its own keywords and a shape. */
static bool add_generated(struct ts_ruleset *rules, struct ts_detect_error *ret_error) {
    static const char *const shapes[] = {"[A-Za-z0-9]{32}", "[a-f0-9]{40}", "[A-Za-z0-9_-]{24}",
                                         "[a-z0-9]{36}"};
    size_t count = 9 * rules->count;
    char *text = malloc(count * GENERATED_TEXT_SIZE + 16);
    if (!text)
        return false;
    size_t len = (size_t)snprintf(text, 16, "rules:\n");
    for (size_t i = 0; i < count; i++)
        len += (size_t)snprintf(
            text + len, GENERATED_TEXT_SIZE,
            "  - {id: generated-%zu, name: G, severity: low, reach: 48, gate: token, entropy: 3,\n"
            "     keywords: [service%zuname, svc%zu], pattern: '\\b(?<secret>%s)\\b'}\n",
            i, i * 7919 % 10007, i, shapes[i % 4]);
    bool good = ts_ruleset_add(rules, "generated.yml", ts_bytes_of(text, len), ret_error);
    free(text);
    return good;
}

static bool open_work(struct work *work, const struct ts_ruleset *rules, struct ts_detect_error *ret_error) {
    work->detector = ts_detector_new(rules, &(struct ts_detector_options){0}, ret_error);
    work->scanner = work->detector ? ts_scanner_new(work->detector) : NULL;
    return work->scanner &&
           hs_alloc_scratch(work->detector->databases[DETECT_GATES], &work->scratch) == HS_SUCCESS;
}

static void close_work(struct work *work) {
    (void)hs_free_scratch(work->scratch);
    ts_scanner_free(work->scanner);
    ts_detector_free(work->detector);
}

int main(int argc, char **argv) {
    static struct corpus corpus;
    static const char *const usual[] = {"/usr/include", "/usr/share"};
    corpus.bytes = malloc(bytes_max);
    struct ts_ruleset rules;
    struct ts_ruleset many;
    struct ts_detect_error error = {.text = "out of memory"};
    ts_ruleset_init(&rules);
    ts_ruleset_init(&many);
    int status = 1;
    struct work work = {.corpus = &corpus, .stride = 1};
    struct work tenfold = work;
    if (!corpus.bytes)
        goto done;
    for (int i = 1; i < argc || (argc == 1 && i < 3); i++)
        read_folder(&corpus, argc == 1 ? usual[i - 1] : argv[i]);
    if (!ts_builtin_add(&rules, &error) || !open_work(&work, &rules, &error) ||
        !ts_builtin_add(&many, &error) || !add_generated(&many, &error) ||
        !open_work(&tenfold, &many, &error))
        goto done;
    printf("{\"files\": %zu, \"bytes\": %zu, \"results\": [\n", corpus.count, corpus.len);
    measure("bare", &work, pass_bare, PASSES, false);
    measure("gates", &work, pass_gates, PASSES, false);
    measure("runs", &work, pass_runs, PASSES, false);
    measure("gated", &work, pass_scan, PASSES, false);
    measure("changed", &work, pass_changed, PASSES, false);
    measure("ten_times", &tenfold, pass_scan, PASSES, false);
    work.not_decoded = true;
    measure("plain", &work, pass_scan, PASSES, false);
    work.not_decoded = false;
    work.ungated = true;
    work.stride = 64;
    measure("ungated", &work, pass_scan, 1, true);
    printf("]}\n");
    status = 0;
done:
    if (status != 0)
        fprintf(stderr, "bench/detect: %s\n", error.text);
    close_work(&work);
    close_work(&tenfold);
    ts_ruleset_release(&many);
    ts_ruleset_release(&rules);
    free(corpus.bytes);
    return status;
}
