#include "detect/scanner.h"
#include "support/cmocka.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char text[] = "rules:\n  - {id: a, name: N, severity: low, gate: [abc_], reach: 20, "
                           "pattern: '(?<secret>abc_[a-z0-9]{8})'}\n";
static char folder[64];
static char cache[96];
static struct ts_ruleset rules;

static int fresh(void **state) {
    (void)state;
    struct ts_detect_error error;
    snprintf(folder, sizeof folder, "/tmp/ts-cache-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(cache, sizeof cache, "%s/deep/down", folder);
    ts_ruleset_init(&rules);
    assert_true(ts_ruleset_add(&rules, "f.yml", ts_bytes_of_cstring(text), &error));
    return 0;
}

static int done(void **state) {
    (void)state;
    char command[160];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
    ts_ruleset_release(&rules);
    return 0;
}

static void count(void *context, const struct ts_match *match) {
    (void)match;
    (*(int *)context)++;
}

/* Makes a detector and scans with it. Returns where its compiled sets came from. */
static enum ts_detector_cache use(const char *where) {
    struct ts_detect_error error;
    struct ts_detector *detector = ts_detector_new(&rules, &(struct ts_detector_options){where}, &error);
    assert_non_null(detector);
    struct ts_scanner *scanner = ts_scanner_new(detector);
    assert_non_null(scanner);
    int found = 0;
    struct ts_scanner_input scan = {.bytes = TS_BYTES("x abc_q7w2e4r5 y")};
    assert_true(ts_scanner_scan(scanner, &scan, count, &found));
    assert_int_equal(found, 1);
    enum ts_detector_cache state = ts_detector_cache_state(detector);
    ts_scanner_free(scanner);
    ts_detector_free(detector);
    return state;
}

/* Sets ret_path to the path of the only file in the cache. */
static void path_of_file(char *ret_path, size_t size) {
    DIR *opened = opendir(cache);
    assert_non_null(opened);
    struct dirent *entry;
    size_t files = 0;
    while ((entry = readdir(opened))) {
        if (entry->d_name[0] == '.' && (entry->d_name[1] == '\0' || entry->d_name[1] == '.'))
            continue;
        files++;
        snprintf(ret_path, size, "%s/%s", cache, entry->d_name);
    }
    closedir(opened);
    assert_int_equal(files, 1);
}

static void a_compiled_set_is_read_back(void **state) {
    (void)state;
    assert_int_equal(use(cache), TS_DETECTOR_CACHE_MISS);
    assert_int_equal(use(cache), TS_DETECTOR_CACHE_HIT);
    rules.rules[0].reach++;
    assert_int_equal(use(cache), TS_DETECTOR_CACHE_MISS);
}

static void a_missing_folder_is_ignored(void **state) {
    (void)state;
    assert_int_equal(use(""), TS_DETECTOR_CACHE_OFF);
    assert_int_equal(use("/proc/nowhere"), TS_DETECTOR_CACHE_MISS);
}

static void every_damaged_byte_is_noticed_and_repaired(void **state) {
    (void)state;
    char path[512];
    struct stat status;
    assert_int_equal(use(cache), TS_DETECTOR_CACHE_MISS);
    path_of_file(path, sizeof path);
    assert_int_equal(stat(path, &status), 0);
    for (off_t at = 0; at < status.st_size; at += at < 80 ? 7 : status.st_size / 5) {
        int fd = open(path, O_RDWR);
        uint8_t byte;
        assert_int_equal(pread(fd, &byte, 1, at), 1);
        byte ^= 0x10;
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        close(fd);
        assert_int_equal(use(cache), TS_DETECTOR_CACHE_DAMAGED);
        assert_int_equal(use(cache), TS_DETECTOR_CACHE_HIT);
    }
    assert_int_equal(truncate(path, status.st_size / 2), 0);
    assert_int_equal(use(cache), TS_DETECTOR_CACHE_DAMAGED);
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(use(cache), TS_DETECTOR_CACHE_DAMAGED);
    path_of_file(path, sizeof path);
}

static void a_file_that_others_may_write_is_not_believed(void **state) {
    (void)state;
    char path[512];
    assert_int_equal(use(cache), TS_DETECTOR_CACHE_MISS);
    path_of_file(path, sizeof path);
    assert_int_equal(chmod(path, 0666), 0);
    assert_int_equal(use(cache), TS_DETECTOR_CACHE_DAMAGED);
    assert_int_equal(use(cache), TS_DETECTOR_CACHE_HIT);
}

static void processes_that_start_together_all_succeed(void **state) {
    (void)state;
    enum { PROCESSES = 8 };
    pid_t children[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            enum ts_detector_cache how = use(cache);
            _exit(how == TS_DETECTOR_CACHE_MISS || how == TS_DETECTOR_CACHE_HIT ? 0 : 1);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int ended;
        assert_int_equal(waitpid(children[i], &ended, 0), children[i]);
        assert_true(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
    }
    char path[512];
    path_of_file(path, sizeof path);
    assert_int_equal(use(cache), TS_DETECTOR_CACHE_HIT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_compiled_set_is_read_back, fresh, done),
        cmocka_unit_test_setup_teardown(a_missing_folder_is_ignored, fresh, done),
        cmocka_unit_test_setup_teardown(every_damaged_byte_is_noticed_and_repaired, fresh, done),
        cmocka_unit_test_setup_teardown(a_file_that_others_may_write_is_not_believed, fresh, done),
        cmocka_unit_test_setup_teardown(processes_that_start_together_all_succeed, fresh, done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
