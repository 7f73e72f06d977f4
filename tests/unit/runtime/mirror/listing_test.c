#include "listing.h"

#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static enum mirror__listed parse(const char *text, struct mirror__listing *ret_listing) {
    char *output = strdup(text);
    const enum mirror__listed listed = mirror__listing_parse(output, strlen(text), TS_GIT_SHA1, ret_listing);
    ret_listing->output = output;
    return listed;
}

/* Expects that the selection chooses these refs of the listing: "source:name source:name". */
static void assert_wanted(const char *text, const char *selection, const char *wanted) {
    struct mirror__listing listing;
    struct mirror__refs refs = {.count = 0};
    char found[2000] = "";
    assert_int_equal(parse(text, &listing), MIRROR__LISTED);
    assert_true(mirror__listing_choose(&listing, ts_bytes_of_cstring(selection), &refs));
    for (size_t i = 0; i < refs.count; i++) {
        const size_t len = strlen(found);
        (void)snprintf(found + len, sizeof found - len, "%s%s:%s", i > 0 ? " " : "", refs.items[i].source,
                       refs.items[i].name);
    }
    assert_string_equal(found, wanted);
    free(refs.items);
    mirror__listing_release(&listing);
}

static const char listing_text[] =
    "ref: refs/heads/main\tHEAD\n" A "\tHEAD\n" A "\trefs/heads/main\n" B "\trefs/heads/Main\n" B
    "\trefs/tags/v1\n" A "\trefs/tags/v1^{}\n" B "\trefs/pull/1/head\n";

static void each_selection_wants_its_refs(void **state) {
    (void)state;
    assert_wanted(listing_text, "default", "refs/heads/main:refs/heads/main");
    assert_wanted(listing_text, "all",
                  "refs/heads/Main:refs/heads/Main refs/heads/main:refs/heads/main "
                  "refs/pull/1/head:refs/pull/1/head refs/tags/v1:refs/tags/v1");
    assert_wanted(listing_text, "refs:main,refs/tags/*",
                  "refs/heads/main:refs/heads/main refs/tags/v1:refs/tags/v1");
    assert_wanted(listing_text, "refs:main,m*", "refs/heads/main:refs/heads/main");
    assert_wanted(listing_text, "refs:other", "");
    assert_wanted(listing_text, "commits:" A, A ":refs/turnstone/commits/" A);
}

static void a_detached_head_keeps_its_commit(void **state) {
    (void)state;
    assert_wanted(A "\tHEAD\n", "default", "HEAD:refs/turnstone/head");
    assert_wanted(A "\tHEAD\n" B "\trefs/heads/main\n", "all",
                  "refs/heads/main:refs/heads/main HEAD:refs/turnstone/head");
}

static void an_empty_repository_wants_nothing(void **state) {
    (void)state;
    assert_wanted("", "default", "");
    assert_wanted("", "all", "");
}

static void an_invalid_list_is_refused(void **state) {
    (void)state;
    static const char *const wrong[] = {"hello\n", A "\trefs/heads/main", "zz\trefs/heads/main\n",
                                        A "\trefs/heads/a\naaaa\trefs/heads/b\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct mirror__listing listing;
        assert_int_equal(parse(wrong[i], &listing), MIRROR__LISTING_WRONG);
        mirror__listing_release(&listing);
    }
}

static void head_never_names_something_outside_the_refs(void **state) {
    (void)state;
    static const char *const wrong[] = {"ref: refs/../../etc/passwd\tHEAD\n", "ref: /etc/passwd\tHEAD\n",
                                        "ref: refs/heads/a b\tHEAD\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct mirror__listing listing;
        assert_int_equal(parse(wrong[i], &listing), MIRROR__LISTED);
        assert_null(listing.head);
        mirror__listing_release(&listing);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_selection_wants_its_refs),
        cmocka_unit_test(a_detached_head_keeps_its_commit),
        cmocka_unit_test(an_empty_repository_wants_nothing),
        cmocka_unit_test(an_invalid_list_is_refused),
        cmocka_unit_test(head_never_names_something_outside_the_refs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
