#include "git/object.h"

#include "support/cmocka.h"

#define ID  "0123456789012345678901234567890123456789"
#define ID2 "abcdefabcdefabcdefabcdefabcdefabcdefabcd"

static void assert_text(struct ts_bytes bytes, const char *text) {
    assert_int_equal(bytes.len, strlen(text));
    assert_memory_equal(bytes.data, text, bytes.len);
}

static void a_commit_has_tree_parents_people_and_message(void **state) {
    (void)state;
    struct ts_git_commit commit;
    assert_true(ts_git_commit_parse(TS_GIT_SHA1,
                                    TS_BYTES("tree " ID "\nparent " ID2 "\nparent " ID "\n"
                                             "author Ann <B> C <ann@example.com> 1700000000 -0230\n"
                                             "committer Bob <bob@example.com> 1700000001 +0545\n"
                                             "gpgsig -----BEGIN\n parent " ID "\n\nsubject\n\nbody\n"),
                                    &commit));
    char hex[TS_GIT_OID_HEX_SIZE];
    assert_string_equal(ts_git_oid_format(TS_GIT_SHA1, &commit.tree, hex), ID);
    struct ts_git_oid parent;
    assert_true(ts_git_commit_next_parent(TS_GIT_SHA1, &commit.parents, &parent));
    assert_string_equal(ts_git_oid_format(TS_GIT_SHA1, &parent, hex), ID2);
    assert_true(ts_git_commit_next_parent(TS_GIT_SHA1, &commit.parents, &parent));
    assert_false(ts_git_commit_next_parent(TS_GIT_SHA1, &commit.parents, &parent));
    assert_int_equal(commit.author.time_s, 1700000000);
    assert_int_equal(commit.author.zone_minutes, -150);
    assert_text(commit.committer.name, "Bob");
    assert_text(commit.committer.mail, "bob@example.com");
    assert_int_equal(commit.committer.zone_minutes, 345);
    assert_text(commit.message, "subject\n\nbody\n");
}

static void people_as_old_tools_wrote_them_are_read_as_far_as_possible(void **state) {
    (void)state;
    struct ts_git_commit commit;
    assert_true(ts_git_commit_parse(TS_GIT_SHA1,
                                    TS_BYTES("tree " ID "\nauthor nobody\ncommitter <> x +0000\n"), &commit));
    assert_text(commit.author.name, "nobody");
    assert_int_equal(commit.author.mail.len, 0);
    assert_int_equal(commit.committer.time_s, 0);
    assert_int_equal(commit.message.len, 0);
    assert_true(ts_git_commit_parse(
        TS_GIT_SHA1, TS_BYTES("tree " ID "\nauthor A <a> 99999999999999999999 +9999\n\n"), &commit));
    assert_int_equal(commit.author.time_s, 0);
}

static void an_object_that_is_not_a_commit_is_refused(void **state) {
    (void)state;
    struct ts_git_commit commit;
    assert_false(ts_git_commit_parse(TS_GIT_SHA1, TS_BYTES(""), &commit));
    assert_false(ts_git_commit_parse(TS_GIT_SHA1, TS_BYTES("tree \n"), &commit));
    assert_false(ts_git_commit_parse(TS_GIT_SHA1, TS_BYTES("tree " ID "0\n"), &commit));
    assert_false(ts_git_commit_parse(TS_GIT_SHA1, TS_BYTES("tree " ID "\nparent 12\n"), &commit));
    assert_false(ts_git_commit_parse(TS_GIT_SHA256, TS_BYTES("tree " ID "\n"), &commit));
}

static void a_tree_is_a_run_of_entries(void **state) {
    (void)state;
    struct ts_bytes rest = TS_BYTES("100644 a b\0"
                                    "aaaaaaaaaaaaaaaaaaaa"
                                    "40000 d\0"
                                    "bbbbbbbbbbbbbbbbbbbb"
                                    "160000 m\0"
                                    "cccccccccccccccccccc");
    struct ts_git_tree_entry entry;
    assert_int_equal(ts_git_tree_next(TS_GIT_SHA1, &rest, &entry), TS_GIT_TREE_ENTRY);
    assert_text(entry.name, "a b");
    assert_int_equal(entry.mode, 0100644);
    assert_int_equal(entry.oid.bytes[19], 'a');
    assert_int_equal(entry.oid.bytes[20], 0);
    assert_int_equal(ts_git_tree_next(TS_GIT_SHA1, &rest, &entry), TS_GIT_TREE_ENTRY);
    assert_true(ts_git_mode_is_tree(entry.mode));
    assert_int_equal(ts_git_tree_next(TS_GIT_SHA1, &rest, &entry), TS_GIT_TREE_ENTRY);
    assert_true(ts_git_mode_is_submodule(entry.mode));
    assert_int_equal(ts_git_tree_next(TS_GIT_SHA1, &rest, &entry), TS_GIT_TREE_END);
}

static void entries_that_are_not_valid_are_refused(void **state) {
    (void)state;
    static const struct ts_bytes bad[] = {
        TS_BYTES_INIT("100644 a\0aaaaaaaaaaaaaaaaaaa"),    /* id cut off */
        TS_BYTES_INIT("100644 a"),                         /* no zero */
        TS_BYTES_INIT("100644 \0aaaaaaaaaaaaaaaaaaaa"),    /* no name */
        TS_BYTES_INIT(" a\0aaaaaaaaaaaaaaaaaaaa"),         /* no mode */
        TS_BYTES_INIT("100844 a\0aaaaaaaaaaaaaaaaaaaa"),   /* not octal */
        TS_BYTES_INIT("77777777 a\0aaaaaaaaaaaaaaaaaaa"),  /* too long a mode */
        TS_BYTES_INIT("100644 a/b\0aaaaaaaaaaaaaaaaaaaa"), /* a path */
        TS_BYTES_INIT("100644"),
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct ts_bytes rest = bad[i];
        struct ts_git_tree_entry entry;
        assert_int_equal(ts_git_tree_next(TS_GIT_SHA1, &rest, &entry), TS_GIT_TREE_BAD);
        assert_int_equal(rest.len, bad[i].len);
    }
}

static void a_tag_names_its_target(void **state) {
    (void)state;
    struct ts_git_tag tag;
    assert_true(ts_git_tag_parse(
        TS_GIT_SHA1, TS_BYTES("object " ID "\ntype blob\ntag v1\ntagger T <t@x> 5 +0000\n\nnotes\n"), &tag));
    assert_int_equal(tag.target_type, TS_GIT_BLOB);
    assert_text(tag.name, "v1");
    assert_text(tag.message, "notes\n");
    assert_int_equal(tag.tagger.time_s, 5);
    assert_false(ts_git_tag_parse(TS_GIT_SHA1, TS_BYTES("object " ID "\ntype thing\n"), &tag));
}

static void ids_are_written_and_read(void **state) {
    (void)state;
    struct ts_git_oid oid;
    char hex[TS_GIT_OID_HEX_SIZE];
    assert_true(ts_git_oid_parse(TS_GIT_SHA1, TS_BYTES("ABCDEFabcdefabcdefabcdefabcdefabcdefabcd"), &oid));
    assert_string_equal(ts_git_oid_format(TS_GIT_SHA1, &oid, hex), ID2);
    assert_false(ts_git_oid_parse(TS_GIT_SHA1, TS_BYTES("g123456789012345678901234567890123456789"), &oid));
    assert_false(ts_git_oid_parse(TS_GIT_SHA1, TS_BYTES("0123"), &oid));
    assert_true(ts_git_oid_parse(TS_GIT_SHA256, TS_BYTES(ID "012345678901234567890123"), &oid));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_commit_has_tree_parents_people_and_message),
        cmocka_unit_test(people_as_old_tools_wrote_them_are_read_as_far_as_possible),
        cmocka_unit_test(an_object_that_is_not_a_commit_is_refused),
        cmocka_unit_test(a_tree_is_a_run_of_entries),
        cmocka_unit_test(entries_that_are_not_valid_are_refused),
        cmocka_unit_test(a_tag_names_its_target),
        cmocka_unit_test(ids_are_written_and_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
