#include "import_glob.h"

#include "detect/glob.h"
#include "support/cmocka.h"

#include <string.h>

static struct cli_import_globs globs;

static bool matches(const char *path) {
    for (size_t i = 0; i < globs.count; i++) {
        assert_null(ts_glob_problem(globs.texts[i]));
        if (ts_glob_matches(globs.texts[i], path))
            return true;
    }
    return false;
}

static void expressions_and_patterns_match_the_same_paths(void **state) {
    (void)state;
    static const struct {
        const char *regex;
        const char *yes[4];
        const char *no[4];
    } cases[] = {
        {"\\.env$", {"a.env", "x/y/.env"}, {"a.env.txt", "env"}},
        {"(?i)\\.(?:bmp|jpe?g)$", {"a.bmp", "x/A.JPG", "b.jpeg"}, {"jpg", "a.png"}},
        {"(?:^|/)go\\.sum$", {"go.sum", "x/go.sum"}, {"xgo.sum", "go.sum.bak"}},
        {"(^|/)vendor/modules\\.txt$",
         {"vendor/modules.txt", "a/b/vendor/modules.txt"},
         {"xvendor/modules.txt"}},
        {"^src/", {"src/a", "src/b/c"}, {"x/src/a", "src"}},
        {"(?:^|/)node_modules(?:/.*)?$", {"node_modules/a", "x/node_modules/a/b.js"}, {"node_modules2/a"}},
        {"\\.tf[^/]*$", {"a.tf", "x/a.tfvars"}, {"a.txt"}},
        {"v[0-9]\\d\\.lock", {"a/v12.lock", "v12.locked"}, {"v1.lock"}},
        {"a.+z$", {"a/b/z", "abz"}, {"az"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (!cli__import_globs(cases[i].regex, &globs))
            fail_msg("%s", cases[i].regex);
        for (size_t k = 0; k < 4 && cases[i].yes[k] != NULL; k++)
            if (!matches(cases[i].yes[k]))
                fail_msg("%s: not %s", cases[i].regex, cases[i].yes[k]);
        for (size_t k = 0; k < 4 && cases[i].no[k] != NULL; k++)
            if (matches(cases[i].no[k]))
                fail_msg("%s: %s", cases[i].regex, cases[i].no[k]);
    }
}

static void unsupported_syntax_of_paths_is_refused(void **state) {
    (void)state;
    static const char *const wrong[] = {
        "[a-z]+\\.txt", "a{3}",  "(a",  "a)",    "\\w",
        "a*b",          "^a|b$", "x\\", "[a/]b", "(?:a|b|c|d)(?:a|b|c|d)(?:a|b|c|d)(?:a|b)"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (cli__import_globs(wrong[i], &globs))
            fail_msg("%s", wrong[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions_and_patterns_match_the_same_paths),
        cmocka_unit_test(unsupported_syntax_of_paths_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
