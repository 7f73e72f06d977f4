/* Reads the format of a repository from its configuration, as git writes and reads it. */
#include "config.h"

#include "repo_maker.h"

static struct git__config parse(const char *text) {
    struct git__config config;
    struct ts_git_fault fault;
    if (git__config_parse(ts_bytes_of_cstring(text), "config", &config, &fault) != TS_GIT_OK)
        fail_msg("refused: %s", text);
    return config;
}

static void assert_refused(const char *text, enum ts_git_error error) {
    struct git__config config = {.is_bare = true};
    struct ts_git_fault fault;
    assert_int_equal(git__config_parse(ts_bytes_of_cstring(text), "config", &config, &fault), error);
    assert_int_equal(fault.error, error);
    assert_true(config.is_bare); /* a refused text does not change the result */
}

static void values_are_true_as_git_says_it(void **state) {
    (void)state;
    static const char *const yes[] = {"bare = true",
                                      "bare",
                                      "BARE=Yes",
                                      "bare = on",
                                      "bare = 1",
                                      "bare = true # comment",
                                      "bare = true;comment",
                                      "bare = \"true\"",
                                      "bare = tr\"ue\"",
                                      "bare = true  \t",
                                      "bare = true\r",
                                      "bare = tr\\\nue",
                                      "bare = false\nbare = true",
                                      "other = \" # ; ]\"\nbare = true",
                                      "other = a\\\\\nbare = true"};
    static const char *const no[] = {"bare = false",      "bare =",
                                     "bare = \"true \"",  "bare = \"true # comment\"",
                                     "bare = tr ue",      "other = true",
                                     "# bare = true",     "; bare = true",
                                     "bare = true\\\nly", "other = \" \\\" \\\nbare = true\""};
    char text[256];
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++) {
        snprintf(text, sizeof text, "[core]\n\t%s\n", yes[i]);
        if (!parse(text).is_bare)
            fail_msg("not bare: %s", text);
    }
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++) {
        snprintf(text, sizeof text, "[core]\n\t%s\n", no[i]);
        if (parse(text).is_bare)
            fail_msg("bare: %s", text);
    }
}

static void sections_end_at_their_bracket(void **state) {
    (void)state;
    assert_true(parse("[remote \"a\"]\n[core]\nbare = true").is_bare);
    assert_true(parse("[Core] bare = true").is_bare);
    assert_false(parse("[core \"x\"]\nbare = true\n[cores]\nbare = true").is_bare);
    assert_true(parse("[remote \"a]b\"] promisor = true").is_partial);
    assert_true(parse("[remote \"a\\\"]b\"] promisor = true").is_partial);
    assert_false(parse("[remote \"a\\\"] promisor = true\\\"\"]\n[core]\nbare = true").is_partial);
}

static void a_promisor_remote_makes_it_partial(void **state) {
    (void)state;
    assert_false(parse("[remote \"a\"]\npromisor = false\nurl = x").is_partial);
    assert_true(parse("[remote \"a\"]\npromisor = true").is_partial);
    assert_true(parse("[remote \"a\"]\npromisor\n[remote \"b\"]\npromisor = false").is_partial);
    assert_true(parse("[extensions]\npartialClone = origin").is_partial);
    assert_false(parse("[branch \"a\"]\npromisor = true").is_partial);
    assert_false(parse("[remote]\npromisor = true").is_partial);
}

static void the_version_says_which_extensions_count(void **state) {
    (void)state;
#define V1 "[core]\nrepositoryformatversion = 1\n[extensions]\n"
#define V0 "[core]\nrepositoryformatversion = 0\n[extensions]\n"
    assert_int_equal(parse(V1 "objectFormat = sha256").hash, TS_GIT_SHA256);
    assert_int_equal(parse(V1 "objectFormat = sha1").hash, TS_GIT_SHA1);
    assert_int_equal(parse("").hash, TS_GIT_SHA1);
    (void)parse(V1 "noop\npreciousObjects = true\nworktreeConfig = true\nrefStorage = files");
    (void)parse(V0 "strange = true");
    assert_refused(V1 "strange = true", TS_GIT_BAD_EXTENSION);
    assert_refused(V1 "objectFormat = sha512", TS_GIT_BAD_EXTENSION);
    assert_refused(V1 "refStorage = reftable", TS_GIT_REFTABLE);
    assert_refused(V1 "[extensions \"x\"]\nnoop = true", TS_GIT_BAD_EXTENSION);
    assert_refused(V1 "[extensions \"x\"]\npartialClone = origin", TS_GIT_BAD_EXTENSION);
    (void)parse("[core \"x\"]\nrepositoryformatversion = 2");
    assert_refused("[core]\nrepositoryformatversion = 2", TS_GIT_BAD_VERSION);
    assert_refused("[core]\nrepositoryformatversion = one", TS_GIT_BAD_VERSION);
    /* git refuses these, too: if such a repository were read as version 0, it would look empty. */
    assert_refused(V0 "objectFormat = sha256", TS_GIT_BAD_FORM);
    assert_refused(V0 "refStorage = reftable", TS_GIT_REFTABLE);
    (void)parse(V0 "objectFormat = sha1");
}

static void files_that_git_refuses_are_refused(void **state) {
    (void)state;
    static const char *const bad[] = {"[core\nbare = true",
                                      "[core \"x]\nbare = true",
                                      "[core]\nbare = \"true",
                                      "[core]\nbare = \"tr\nue\"",
                                      "[core]\nbare true",
                                      "[core]\n= true",
                                      "[core]\n1bare = true",
                                      "[cor;]\nbare = true",
                                      "[core;\"x\"]\nbare = true",
                                      "[core x]\nbare = true",
                                      "[core \"x\" y]\nbare = true",
                                      "[core ]\nbare = true",
                                      "[core \"x\\\n\"]\nbare = true",
                                      "[core]\nbare # true",
                                      "[core]\nbare = \\x",
                                      "[core]\nbare\r= true",
                                      "[core]\n\vbare = true",
                                      "[core]\nba_re = true"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_refused(bad[i], TS_GIT_BAD_CONFIG);
}

static void files_that_git_reads_are_read(void **state) {
    (void)state;
    static const char *const good[] = {"\xef\xbb\xbf[core]\nbare = true",
                                       "[core]bare = true",
                                       "[core]\r\nbare\r\n",
                                       "[core]\nbare",
                                       "[core]\nbare = tr\\\nue",
                                       "[core]\nbare = tr\\\r\nue",
                                       "[core]\nbare = \"tr\"ue ; yes",
                                       "[x \"a\\\"]b\"]\ny = \\t\\b\\n\\\\\\\"\n[core]\nbare = true",
                                       "[CORE]\nBARE=true \n[x.y]\nz"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        if (!parse(good[i]).is_bare)
            fail_msg("not read: number %zu", i);
}

/* A name longer than all known names is truncated. It is never taken for the known name with which it
 * begins. */
static void long_names_and_values_are_cut(void **state) {
    (void)state;
    char text[4096];
    char filling[600];
    memset(filling, 'x', sizeof filling - 1);
    filling[sizeof filling - 1] = '\0';
    snprintf(text, sizeof text, "[%s]\n%s = %s\n[core]\nbare = true\nbare%s = false\n", filling, filling,
             filling, filling);
    assert_true(parse(text).is_bare);
    snprintf(text, sizeof text, "[core]\nbare = true%s\n", filling);
    assert_false(parse(text).is_bare);
    char exact[128 + 1];
    memset(exact, 'y', sizeof exact - 1);
    exact[sizeof exact - 1] = '\0';
    snprintf(text, sizeof text, "[core]\nbare = true\n%s = %s\n", exact, exact);
    assert_true(parse(text).is_bare);
}

static void without_a_file_it_is_what_git_makes_first(void **state) {
    (void)state;
    struct git__config config = {.is_bare = true, .hash = TS_GIT_SHA256};
    struct ts_git_fault fault;
    assert_int_equal(git__config_read("nowhere", &config, &fault), TS_GIT_OK);
    assert_int_equal(config.hash, TS_GIT_SHA1);
    assert_false(config.is_bare);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, maker_setup, maker_teardown)
    const struct CMUnitTest tests[] = {
        TEST(values_are_true_as_git_says_it),     TEST(sections_end_at_their_bracket),
        TEST(a_promisor_remote_makes_it_partial), TEST(the_version_says_which_extensions_count),
        TEST(files_that_git_refuses_are_refused), TEST(files_that_git_reads_are_read),
        TEST(long_names_and_values_are_cut),      TEST(without_a_file_it_is_what_git_makes_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
