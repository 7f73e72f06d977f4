/*
 * git_blobs REPOSITORY [THREADS...]: how fast every blob of a repository is inflated and rebuilt, compared
 * with `git cat-file --batch --batch-all-objects --unordered --buffer` on the same repository in the same
 * run. Prints one JSON object. Three processes measure each figure; the fastest one counts.
 *
 * peak_rss_bytes is the kernel's figure and counts pages of mapped packs; held_bytes_max is the reader's own
 * memory.
 */
#include "git/repo.h"
#include "git/visit.h"
#include "git/walk.h"
#include "os/clock.h"

#include "base/number.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 3

struct measured {
    bool is_valid;
    double seconds;
    double cpu_seconds; /* CPU time of all threads: depends little on other load of the machine */
    uint64_t peak_rss_bytes;
    uint64_t objects;
    uint64_t bytes;
    uint64_t held_bytes_max;
    uint64_t faults;
};

static bool take(void *ctx, unsigned worker, const struct ts_git_object *object, void **result) {
    (void)ctx;
    (void)worker;
    (void)object;
    (void)result;
    return true;
}

static double seconds_since(uint64_t start_ns) {
    return (double)(ts_clock_monotonic_ns() - start_ns) / 1e9;
}

static double cpu_of(const struct rusage *usage) {
    return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
           (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e6;
}

/* Runs in the child. Measures everything, including opening the repository. */
static struct measured visit_all(const char *path, unsigned threads) {
    struct measured measured = {.is_valid = false};
    struct ts_git_repo *repo = NULL;
    uint64_t start = ts_clock_monotonic_ns();
    if (ts_git_repo_open(path, NULL, &repo, NULL) != TS_GIT_OK)
        return measured;
    struct ts_git_visit_options options = {.threads = threads};
    struct ts_git_visitor visitor = {.visit = take};
    struct ts_git_visit_stats stats;
    if (ts_git_visit(repo, &options, &visitor, &stats, NULL) == TS_GIT_OK) {
        measured = (struct measured){.is_valid = true,
                                     .seconds = seconds_since(start),
                                     .objects = stats.objects,
                                     .bytes = stats.bytes,
                                     .held_bytes_max = stats.held_bytes_max,
                                     .faults = stats.faults};
    }
    ts_git_repo_free(repo);
    return measured;
}

/* Reads commits and trees, and finds the blobs that the refs reach. */
static struct measured reach_all(const char *path, unsigned threads) {
    struct measured measured = {.is_valid = false};
    struct ts_git_repo *repo = NULL;
    struct ts_git_graph *graph = NULL;
    struct ts_git_set *set = NULL;
    uint64_t start = ts_clock_monotonic_ns();
    if (ts_git_repo_open(path, NULL, &repo, NULL) != TS_GIT_OK)
        return measured;
    struct ts_git_graph_options options = {.threads = threads};
    struct ts_git_selection all = {.all_refs = true};
    struct ts_git_reach_stats stats;
    if (ts_git_graph_new(repo, &options, &graph, NULL) == TS_GIT_OK &&
        ts_git_graph_reach(graph, &all, &set, &stats, NULL) == TS_GIT_OK)
        measured = (struct measured){.is_valid = true,
                                     .seconds = seconds_since(start),
                                     .objects = stats.blobs,
                                     .faults = stats.missing};
    ts_git_set_free(set);
    ts_git_graph_free(graph);
    ts_git_repo_free(repo);
    return measured;
}

struct sample {
    struct ts_git_set *set;
    size_t seen;
};

/* Adds every hundredth blob to the sample. */
static bool take_sample(void *ctx, unsigned worker, const struct ts_git_object *object, void **result) {
    (void)worker;
    (void)result;
    struct sample *sample = ctx;
    if (sample->seen++ % 100 == 0)
        (void)ts_git_set_add(sample->set, &object->oid);
    return true;
}

/* Finds the first commits and paths of a hundredth of all blobs. The time does not include choosing the blobs
 * and reading the graph. */
static struct measured attribute(const char *path, unsigned threads) {
    struct measured measured = {.is_valid = false};
    struct ts_git_repo *repo = NULL;
    struct ts_git_graph *graph = NULL;
    struct sample sample = {.set = NULL};
    if (ts_git_repo_open(path, NULL, &repo, NULL) != TS_GIT_OK)
        return measured;
    struct ts_git_graph_options options = {.threads = threads};
    struct ts_git_selection all = {.all_refs = true};
    struct ts_git_visitor visitor = {.visit = take_sample, .ctx = &sample};
    struct ts_git_occurrences occurrences;
    if (ts_git_graph_new(repo, &options, &graph, NULL) == TS_GIT_OK &&
        ts_git_set_new(repo, &sample.set, NULL) == TS_GIT_OK &&
        ts_git_visit(repo, &(struct ts_git_visit_options){.threads = 1}, &visitor, NULL, NULL) == TS_GIT_OK) {
        uint64_t start = ts_clock_monotonic_ns();
        if (ts_git_graph_attribute(graph, &all, sample.set, 0, &occurrences, NULL) == TS_GIT_OK) {
            measured = (struct measured){
                .is_valid = true, .seconds = seconds_since(start), .objects = occurrences.count};
            ts_git_occurrences_release(&occurrences);
        }
    }
    ts_git_set_free(sample.set);
    ts_git_graph_free(graph);
    ts_git_repo_free(repo);
    return measured;
}

static struct measured cat_file(const char *path) {
    struct measured measured = {.is_valid = false};
    uint64_t start = ts_clock_monotonic_ns();
    pid_t child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (null >= 0)
            dup2(null, STDOUT_FILENO);
        execlp("git", "git", "-C", path, "cat-file", "--batch", "--batch-all-objects", "--unordered",
               "--buffer", (char *)NULL);
        _exit(127);
    }
    int status;
    if (child > 0 && waitpid(child, &status, 0) == child && status == 0) {
        struct rusage usage;
        getrusage(RUSAGE_CHILDREN, &usage);
        measured = (struct measured){.is_valid = true,
                                     .seconds = seconds_since(start),
                                     .cpu_seconds = cpu_of(&usage),
                                     .peak_rss_bytes = (uint64_t)usage.ru_maxrss * 1024};
    }
    return measured;
}

enum what { VISIT, REACH, ATTRIBUTE, CAT_FILE };

static struct measured measure(enum what what, const char *path, unsigned threads) {
    switch (what) {
    case VISIT:
        return visit_all(path, threads);
    case REACH:
        return reach_all(path, threads);
    case ATTRIBUTE:
        return attribute(path, threads);
    case CAT_FILE:
        return cat_file(path);
    }
    return (struct measured){.is_valid = false};
}

static struct measured once(enum what what, const char *path, unsigned threads) {
    struct measured measured = {.is_valid = false};
    int ends[2];
    if (pipe(ends) != 0)
        return measured;
    pid_t child = fork();
    if (child == 0) {
        struct measured found = measure(what, path, threads);
        struct rusage usage;
        getrusage(RUSAGE_SELF, &usage);
        if (what != CAT_FILE) {
            found.peak_rss_bytes = (uint64_t)usage.ru_maxrss * 1024;
            found.cpu_seconds = cpu_of(&usage);
        }
        _exit(write(ends[1], &found, sizeof found) == (ssize_t)sizeof found ? 0 : 1);
    }
    close(ends[1]);
    if (child < 0 || read(ends[0], &measured, sizeof measured) != (ssize_t)sizeof measured)
        measured.is_valid = false;
    close(ends[0]);
    if (child > 0)
        (void)waitpid(child, NULL, 0);
    return measured;
}

static struct measured best(enum what what, const char *path, unsigned threads) {
    struct measured fastest = {.is_valid = false};
    for (int i = 0; i < ROUNDS; i++) {
        struct measured measured = once(what, path, threads);
        if (measured.is_valid && (!fastest.is_valid || measured.seconds < fastest.seconds))
            fastest = measured;
    }
    return fastest;
}

static void print_one(const char *name, unsigned threads, struct measured m, double beside_s) {
    printf("    {\"what\": \"%s\", \"threads\": %u, \"seconds\": %.3f, \"cpu_seconds\": %.3f, ", name,
           threads, m.seconds, m.cpu_seconds);
    printf("\"of_cat_file\": %.3f, ", m.seconds / beside_s);
    printf("\"objects\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"bytes_per_s\": %.0f, ", m.objects, m.bytes,
           (double)m.bytes / m.seconds);
    printf("\"held_bytes_max\": %" PRIu64 ", \"peak_rss_bytes\": %" PRIu64 ", \"faults\": %" PRIu64 "}",
           m.held_bytes_max, m.peak_rss_bytes, m.faults);
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: git_blobs REPOSITORY [THREADS...]\n");
        return 2;
    }
    struct measured git = best(CAT_FILE, argv[1], 0);
    if (!git.is_valid) {
        fprintf(stderr, "git_blobs: git cat-file failed on %s; give a repository that git can read\n",
                argv[1]);
        return 2;
    }
    printf("{\n  \"cat_file\": {\"seconds\": %.3f, \"cpu_seconds\": %.3f, \"peak_rss_bytes\": %" PRIu64
           "},\n",
           git.seconds, git.cpu_seconds, git.peak_rss_bytes);
    printf("  \"runs\": [\n");
    static const char *const usual[] = {"1", "2"};
    int count = argc > 2 ? argc - 2 : 2;
    for (int i = 0; i < count; i++) {
        const char *text = argc > 2 ? argv[i + 2] : usual[i];
        uint32_t threads;
        if (ts_u32_parse(ts_bytes_of_cstring(text), &threads) != TS_NUMBER_OK)
            threads = 1;
        struct measured visited = best(VISIT, argv[1], threads);
        struct measured reached = best(REACH, argv[1], threads);
        struct measured attributed = best(ATTRIBUTE, argv[1], threads);
        if (!visited.is_valid || !reached.is_valid || !attributed.is_valid) {
            fprintf(stderr, "git_blobs: %s cannot be read\n", argv[1]);
            return 2;
        }
        print_one("blobs", threads, visited, git.seconds);
        printf(",\n");
        print_one("reach", threads, reached, git.seconds);
        printf(",\n");
        print_one("attribute", threads, attributed, git.seconds);
        printf(i + 1 < count ? ",\n" : "\n");
    }
    printf("  ]\n}\n");
    return 0;
}
