/* Measures how much of mapped packs is in memory, as the kernel counts it. */
#include "resident.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LARGE      ((size_t)2 * GIT__RESIDENT_MAX)
#define VERY_LARGE ((size_t)2 * GIT__RESIDENT_PROCESS)
#define PIECE      ((size_t)4 << 20)

/* Returns the size of all pages of files that the process has mapped and read. */
static size_t resident_bytes(void) {
    char text[128];
    FILE *file = fopen("/proc/self/statm", "re");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    char *at = strchr(text, ' '); /* the fields: all pages, resident pages, pages of files */
    assert_non_null(at);
    at = strchr(at + 1, ' ');
    assert_non_null(at);
    unsigned long of_files = strtoul(at, NULL, 10);
    return (size_t)of_files * (size_t)sysconf(_SC_PAGESIZE);
}

/* Takes so much other memory that packs may keep no additional pages. */
static void *take_memory(void) {
    void *memory = mmap(NULL, GIT__RESIDENT_PROCESS, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    return memory;
}

static void return_memory(void *memory) {
    assert_int_equal(munmap(memory, GIT__RESIDENT_PROCESS), 0);
}

enum making { SPARSE, WRITTEN };

/* Opens a pack of zeros. The system's cache may keep the data of one large write as one piece. */
static void open_pack(size_t len, enum making making, struct git__pack *ret_pack) {
    char path[] = "/tmp/turnstone-resident-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && ftruncate(fd, (off_t)len) == 0);
    char *zeros = calloc(1, PIECE);
    assert_non_null(zeros);
    for (size_t at = 0; making == WRITTEN && at < len; at += PIECE)
        assert_int_equal(pwrite(fd, zeros, PIECE, (off_t)at), PIECE);
    free(zeros);
    close(fd);
    *ret_pack = (struct git__pack){.end = len};
    assert_int_equal(git__map_open(path, &ret_pack->map, NULL), TS_GIT_OK);
    unlink(path);
}

/* Reads all of a pack, and returns the largest number of its bytes that were resident at the same time. */
static size_t read_all(struct git__resident *resident, const struct git__pack *pack) {
    size_t before = resident_bytes();
    size_t most = 0;
    unsigned sum = 0;
    for (size_t at = 0; at < pack->map.bytes.len; at += GIT__RESIDENT_WINDOW) {
        git__resident_note(resident, pack, (struct git__extent){at, at + GIT__RESIDENT_WINDOW});
        for (size_t i = 0; i < GIT__RESIDENT_WINDOW; i += 4096)
            sum += pack->map.bytes.data[at + i];
        size_t now = resident_bytes();
        most = now > before && now - before > most ? now - before : most;
    }
    assert_int_equal(sum, 0);
    return most;
}

static void a_large_pack_is_never_resident_as_a_whole(void **state) {
    (void)state;
    struct git__pack pack;
    struct git__resident resident;
    void *other = take_memory();
    open_pack(LARGE, SPARSE, &pack);
    assert_true(git__resident_init(&pack, 1, &resident));
    assert_in_range(read_all(&resident, &pack), GIT__RESIDENT_MAX / 2,
                    GIT__RESIDENT_MAX + GIT__RESIDENT_MAX / 4);
    git__resident_release(&resident);
    git__map_release(&pack.map);
    return_memory(other);
}

static void more_pages_stay_while_the_process_is_small(void **state) {
    (void)state;
    struct git__pack pack;
    struct git__resident resident;
    open_pack(VERY_LARGE, SPARSE, &pack);
    assert_true(git__resident_init(&pack, 1, &resident));
    assert_in_range(read_all(&resident, &pack), GIT__RESIDENT_MAX + GIT__RESIDENT_MAX / 4,
                    GIT__RESIDENT_PROCESS + GIT__RESIDENT_STEP);
    git__resident_release(&resident);
    git__map_release(&pack.map);
}

static void without_the_figure_of_the_process_no_more_pages_stay(void **state) {
    (void)state;
    struct git__pack pack;
    struct git__resident resident;
    open_pack(LARGE, SPARSE, &pack);
    assert_true(git__resident_init(&pack, 1, &resident));
    close(resident.process);
    resident.process = -1;
    assert_in_range(read_all(&resident, &pack), GIT__RESIDENT_MAX / 2,
                    GIT__RESIDENT_MAX + GIT__RESIDENT_MAX / 4);
    git__resident_release(&resident);
    git__map_release(&pack.map);
}

/* Few windows are read, but the kernel may map megabytes for each window. */
static void pieces_that_the_kernel_maps_count_as_a_whole(void **state) {
    (void)state;
    struct git__pack pack;
    struct git__resident resident;
    size_t most = 0;
    void *other = take_memory();
    open_pack(LARGE, WRITTEN, &pack);
    assert_true(git__resident_init(&pack, 1, &resident));
    size_t before = resident_bytes();
    for (size_t at = 0; at < LARGE; at += LARGE / 256) {
        git__resident_note(&resident, &pack, (struct git__extent){at, at + 1});
        assert_int_equal(pack.map.bytes.data[at], 0);
        size_t now = resident_bytes();
        most = now > before && now - before > most ? now - before : most;
    }
    assert_in_range(most, 1, GIT__RESIDENT_MAX + GIT__RESIDENT_MAX / 4);
    git__resident_release(&resident);
    assert_in_range(resident_bytes(), 0, before + GIT__RESIDENT_MAX / 16);
    git__map_release(&pack.map);
    return_memory(other);
}

static void small_packs_stay(void **state) {
    (void)state;
    struct git__pack packs[2];
    struct git__resident resident;
    open_pack(GIT__RESIDENT_WINDOW * 16, SPARSE, &packs[0]);
    open_pack(GIT__RESIDENT_WINDOW * 16, SPARSE, &packs[1]);
    assert_true(git__resident_init(packs, 2, &resident));
    assert_null(resident.states);
    (void)read_all(&resident, &packs[1]);
    assert_int_equal(atomic_load(&resident.count), 0);
    git__resident_release(&resident);
    git__map_release(&packs[0].map);
    git__map_release(&packs[1].map);
}

/* Notes the last byte of one pack, and the first byte of the next pack, which is in another window. */
static void windows_of_one_pack_are_not_those_of_another(void **state) {
    (void)state;
    struct git__pack packs[2];
    struct git__resident resident;
    open_pack(LARGE, SPARSE, &packs[0]);
    open_pack(GIT__RESIDENT_WINDOW, SPARSE, &packs[1]);
    assert_true(git__resident_init(packs, 2, &resident));
    git__resident_note(&resident, &packs[0], (struct git__extent){LARGE - 1, LARGE});
    assert_int_equal(atomic_load(&resident.count), 1);
    git__resident_note(&resident, &packs[1], (struct git__extent){0, 1});
    assert_int_equal(atomic_load(&resident.count), 2);
    git__resident_note(&resident, &packs[1], (struct git__extent){1, 9}); /* the same window again */
    assert_int_equal(atomic_load(&resident.count), 2);
    git__resident_release(&resident);
    git__map_release(&packs[0].map);
    git__map_release(&packs[1].map);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_large_pack_is_never_resident_as_a_whole),
        cmocka_unit_test(more_pages_stay_while_the_process_is_small),
        cmocka_unit_test(without_the_figure_of_the_process_no_more_pages_stay),
        cmocka_unit_test(pieces_that_the_kernel_maps_count_as_a_whole),
        cmocka_unit_test(small_packs_stay),
        cmocka_unit_test(windows_of_one_pack_are_not_those_of_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
