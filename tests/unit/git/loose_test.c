/* Reads intact loose objects, and loose objects with heads that git does not write. */
#include "loose.h"

#include "support/cmocka.h"

#include <string.h>

struct file {
    uint8_t bytes[512];
    struct ts_bytes all;
};

static struct ts_bytes pack(struct file *file, struct ts_bytes text) {
    uLongf len = sizeof file->bytes;
    assert_int_equal(compress(file->bytes, &len, text.data, (uLong)text.len), Z_OK);
    file->all = ts_bytes_of(file->bytes, len);
    return file->all;
}

static void a_head_says_type_and_size(void **state) {
    (void)state;
    struct file file;
    struct git__loose_head head;
    assert_int_equal(git__loose_head(pack(&file, TS_BYTES("blob 5\0hello")), &head), TS_GIT_OK);
    assert_int_equal(head.type, TS_GIT_BLOB);
    assert_int_equal(head.size, 5);
    assert_int_equal(head.len, 7);
    assert_int_equal(git__loose_head(pack(&file, TS_BYTES("tree 0\0")), &head), TS_GIT_OK);
    assert_int_equal(head.type, TS_GIT_TREE);
    assert_int_equal(head.size, 0);
}

static void heads_that_no_git_writes_are_refused(void **state) {
    (void)state;
    const struct ts_bytes heads[] = {TS_BYTES(""),
                                     TS_BYTES("\0"),
                                     TS_BYTES("blob\0hello"),
                                     TS_BYTES("blob \0hello"),
                                     TS_BYTES("blob -5\0x"),
                                     TS_BYTES("blob 5x\0he"),
                                     TS_BYTES("blob  5\0hello"),
                                     TS_BYTES("note 5\0hello"),
                                     TS_BYTES(" 5\0hello"),
                                     TS_BYTES("blob 5"),
                                     TS_BYTES("blob 05\0hello"),
                                     TS_BYTES("blob 00\0"),
                                     TS_BYTES("blob 99999999999999999999\0x"),
                                     TS_BYTES("blob 00000000000000000000000000000000005\0hello")};
    struct file file;
    struct git__loose_head head;
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
        if (git__loose_head(pack(&file, heads[i]), &head) != TS_GIT_BAD_ENTRY)
            fail_msg("taken: number %zu", i);
    assert_int_not_equal(git__loose_head(TS_BYTES("no zlib"), &head), TS_GIT_OK);
}

static void the_content_is_as_long_as_the_head_says(void **state) {
    (void)state;
    struct file file;
    struct git__loose_head head;
    struct git__inflater inflater;
    uint8_t bytes[16];
    assert_true(git__inflater_init(&inflater));
    assert_int_equal(git__loose_head(pack(&file, TS_BYTES("blob 5\0hello")), &head), TS_GIT_OK);
    assert_int_equal(git__loose_content(&inflater, file.all, &head, bytes), TS_GIT_OK);
    assert_memory_equal(bytes, "hello", 5);
    for (size_t size = 4; size <= 6; size += 2) {
        head.size = size;
        assert_int_not_equal(git__loose_content(&inflater, file.all, &head, bytes), TS_GIT_OK);
    }
    git__inflater_release(&inflater);
}

static void bytes_after_the_end_are_damage(void **state) {
    (void)state;
    struct file file;
    struct git__loose_head head;
    struct git__inflater inflater;
    struct git__inflate_stream stream;
    uint8_t bytes[16];
    assert_true(git__inflater_init(&inflater));
    assert_int_equal(git__loose_head(pack(&file, TS_BYTES("blob 5\0hello")), &head), TS_GIT_OK);
    for (size_t more = 0; more < 2; more++) {
        struct ts_bytes all = ts_bytes_of(file.bytes, file.all.len + more);
        file.bytes[file.all.len] = 0;
        assert_int_equal(git__loose_content(&inflater, all, &head, bytes),
                         more == 0 ? TS_GIT_OK : TS_GIT_BAD_DEFLATE);
        size_t len;
        assert_int_equal(git__loose_stream(all, &head, &stream), TS_GIT_OK);
        assert_int_equal(git__inflate_stream_read(&stream, bytes, 5, &len), TS_GIT_OK);
        assert_int_equal(git__inflate_stream_finish(&stream), TS_GIT_OK);
        assert_int_equal(git__inflate_stream_used_all(&stream), more == 0);
        git__inflate_stream_release(&stream);
    }
    git__inflater_release(&inflater);
}

static void a_stream_begins_after_the_head(void **state) {
    (void)state;
    struct file file;
    struct git__loose_head head;
    struct git__inflate_stream stream;
    uint8_t bytes[16];
    size_t len;
    assert_int_equal(git__loose_head(pack(&file, TS_BYTES("blob 5\0hello")), &head), TS_GIT_OK);
    assert_int_equal(git__loose_stream(file.all, &head, &stream), TS_GIT_OK);
    assert_int_equal(git__inflate_stream_read(&stream, bytes, sizeof bytes, &len), TS_GIT_OK);
    assert_int_equal(len, 5);
    assert_memory_equal(bytes, "hello", 5);
    git__inflate_stream_release(&stream);
    /* The file became shorter after its head was read. */
    assert_int_equal(git__loose_stream(pack(&file, TS_BYTES("blob")), &head, &stream), TS_GIT_BAD_ENTRY);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_head_says_type_and_size),
        cmocka_unit_test(heads_that_no_git_writes_are_refused),
        cmocka_unit_test(the_content_is_as_long_as_the_head_says),
        cmocka_unit_test(bytes_after_the_end_are_damage),
        cmocka_unit_test(a_stream_begins_after_the_head),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
