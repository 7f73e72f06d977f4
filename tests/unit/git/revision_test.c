/* Resolves revisions that search messages or dates. Each result is compared with git's answer. */
#include "git/revision.h"

#include "repo_maker.h"

#include <locale.h>
#include <time.h>

#define COMMITS 40

/* Makes commits with few different messages and times: many commits are of the same second. Some commits have
 * several parents, and some clocks go back. */
static void make_history(uint64_t seed) {
    static const char *const messages[] = {"fix parser\n\nThe second paragraph\nends here.\n",
                                           "Fix: a{2}b (again)\n",
                                           "!bang\n",
                                           "add caf\xc3\xa9 menu\n",
                                           "release 1.0\n\nFixes #7: x}y\n",
                                           "\n",
                                           "one line without its end"};
    struct ts_prng prng;
    ts_prng_init(&prng, seed);
    sh("rm -rf r && git init -q r && git -C r config core.logAllRefUpdates always");
    FILE *out = popen("git -C r fast-import --quiet", "w"); /* NOLINT(cert-env33-c): a test */
    assert_non_null(out);
    for (unsigned mark = 1; mark <= COMMITS; mark++) {
        const char *message = messages[ts_prng_below(&prng, sizeof messages / sizeof messages[0])];
        fprintf(out, "commit refs/heads/c%u\nmark :%u\ncommitter C <c@example.com> %u +0000\ndata %zu\n%s\n",
                mark, mark, 1600000000 + mark / 8 + (unsigned)ts_prng_below(&prng, 3), strlen(message),
                message);
        unsigned parents = mark > 1 ? 1 + (ts_prng_below(&prng, 4) == 0 ? 2 : 0) : 0;
        for (unsigned i = 0; i < parents && i < mark - 1; i++) {
            unsigned parent = i == 0 ? 1 + (unsigned)ts_prng_below(&prng, mark - 1) : mark - i;
            fprintf(out, "%s :%u\n", i == 0 ? "from" : "merge", parent);
        }
        fprintf(out, "\n");
    }
    assert_int_equal(pclose(out), 0);
    /* Only some refs remain, so most commits have no ref. */
    sh("cd r && git symbolic-ref HEAD refs/heads/c%d && git tag -a -m note v1 c20 && git tag v0 c5 &&"
       " git tag blob $(echo x | git hash-object -w --stdin) &&"
       " seq -f 'delete refs/heads/c%%g' 34 | git update-ref --stdin && git update-ref refs/heads/kept v1~1",
       COMMITS - 1);
}

/* Resolves each form with git and with turnstone, and compares the ids. "missing" stands for a refusal. */
static void assert_as_git(const char *const *forms, size_t count) {
    size_t found = 0;
    struct ts_git_repo *repo;
    struct ts_git_fault fault;
    FILE *file = fopen("forms", "w");
    assert_non_null(file);
    for (size_t i = 0; i < count; i++)
        fprintf(file, "%s\n", forms[i]);
    assert_int_equal(fclose(file), 0);
    char *answers = output_of(NULL, "git -C r cat-file '--batch-check=%%(objectname)' <forms 2>/dev/null");
    assert_int_equal(ts_git_repo_open("r", NULL, &repo, &fault), TS_GIT_OK);
    char *rest = answers;
    for (size_t i = 0; i < count; i++) {
        char hex[TS_GIT_OID_HEX_SIZE] = "missing";
        struct ts_git_oid oid;
        char *line = strsep(&rest, "\n");
        assert_non_null(line);
        size_t len = strlen(line);
        const char *expected = len >= 8 && strcmp(line + len - 8, " missing") == 0 ? "missing" : line;
        if (ts_git_revision_resolve(repo, forms[i], &oid, &fault) == TS_GIT_OK)
            ts_git_oid_format(ts_git_repo_hash(repo), &oid, hex);
        found += strcmp(expected, "missing") != 0;
        if (strcmp(hex, expected) != 0)
            fail_msg("%s: git says %s, this %s", forms[i], expected, hex);
    }
    free(answers);
    ts_git_repo_free(repo);
    if (found < count / 4)
        fail_msg("only %zu of %zu found", found, count);
}

static void messages_are_found_as_by_git(void **state) {
    (void)state;
    static const char *const forms[] = {
        /* case, lines, the end of the message */
        ":/fix", ":/Fix", ":/^fix", ":/^Fix", ":/^The", ":/parser$", ":/here\\.$", ":/here.$", ":/here..$",
        ":/parser.*ends", ":/end$", ":/^.add", ":/release 1.0", ":/^$", ":/.", ":/nothing like it",
        /* text that looks like a suffix */
        ":/fix^", ":/fix~1", ":/^{}", ":/fix^{/add}", ":/#7: x}y", ":/Fixes #7:",
        /* expressions */
        ":/a\\{2}b", ":/(fix|add)", ":/[Ff]ix[^:]", ":/o{2}", ":/\\(again\\)", ":/(", ":/[", ":/*",
        ":/caf. m", ":/caf.. m", ":/caf[\xc3\xa9] m", ":/(a|b)\\1",
        /* exclamation marks */
        ":/!bang", ":/!!bang", ":/!-fix", ":/!-[Ff]ix|add|!", ":/!-", ":/!", ":/!--", ":/!!", ":/",
        /* searches that begin at one commit */
        "HEAD^{/fix}", "HEAD^{/}", "v1^{/Fix}", "v1^{/!-.}", "v1^{/!-}", "v1^{/!!bang}", "v1^{/!bang}",
        "v0^{/fix}", "c35^{/add}", "c36^{/add}", "c37^{/add}", "c38^{/add}", "c40^{/release}~1",
        "c40^{/release}^", "@^{/fix}^0", "HEAD^{/fix}^{/add}", "HEAD^{/fix}~1^{/Fix}^1", "HEAD^{/a\\{2}}",
        "HEAD^{/x}y}", "HEAD^{/x}y}~1", "HEAD^{/o{1}}", "HEAD^{/#7: x}", "HEAD^{/fix", "HEAD^{/fix}x",
        "HEAD^{/fix}12", "HEAD^{/a..b}", "HEAD^{/fix}:a", "blob^{/fix}", "nothing^{/fix}", "HEAD~1^{/fix}",
        "HEAD^{/nothing like it}"};
    for (uint64_t seed = 1; seed <= 6; seed++) {
        make_history(seed);
        assert_as_git(forms, sizeof forms / sizeof forms[0]);
    }
}

static void characters_are_those_of_the_locale(void **state) {
    (void)state;
    static const char *const forms[] = {":/caf. m", ":/caf.. m", ":/caf[\xc3\xa9] m", ":/caf[^a] m"};
    make_history(1);
    for (unsigned i = 0; i < 2; i++) {
        setenv("LC_ALL", i == 0 ? "C.UTF-8" : "C", 1);
        assert_as_git(forms, sizeof forms / sizeof forms[0]);
    }
    unsetenv("LC_ALL");
}

static void a_long_message_is_searched_at_its_start(void **state) {
    (void)state;
    struct ts_git_repo *repo;
    struct ts_git_fault fault;
    struct ts_git_oid oid;
    sh("git init -q r && cd r && (echo start; head -c 1100000 /dev/zero | tr '\\0' 'x'; echo end) >../message &&"
       " git commit -q --allow-empty --cleanup=verbatim -F ../message");
    assert_int_equal(ts_git_repo_open("r", NULL, &repo, &fault), TS_GIT_OK);
    assert_int_equal(ts_git_revision_resolve(repo, ":/^start", &oid, &fault), TS_GIT_OK);
    assert_int_equal(ts_git_revision_resolve(repo, ":/end", &oid, &fault), TS_GIT_NO_MATCH);
    assert_int_equal(ts_git_revision_resolve(repo, ":/(", &oid, &fault), TS_GIT_BAD_PATTERN);
    assert_int_equal(ts_git_revision_resolve(repo, "HEAD@{someday}", &oid, &fault), TS_GIT_BAD_DATE);
    ts_git_repo_free(repo);
}

/* The history lacks a commit, which may be the one that is searched for. */
static void a_missing_commit_is_an_error_unless_the_search_ends_before(void **state) {
    (void)state;
    struct ts_git_repo *repo;
    struct ts_git_fault fault;
    struct ts_git_oid oid;
    sh("git init -q r && cd r && for i in 1 2 3; do GIT_COMMITTER_DATE=\"170000000$i +0000\" git commit -q --allow-empty"
       " -m \"number $i\"; done && id=$(git rev-parse HEAD~2) && rm -f .git/objects/$(echo $id | cut -c1-2)/$(echo $id |"
       " cut -c3-)");
    assert_int_equal(ts_git_repo_open("r", NULL, &repo, &fault), TS_GIT_OK);
    assert_int_equal(ts_git_revision_resolve(repo, ":/number 3", &oid, &fault), TS_GIT_OK);
    assert_int_equal(ts_git_revision_resolve(repo, ":/number 1", &oid, &fault), TS_GIT_MISSING);
    ts_git_repo_free(repo);
}

static void a_reflog_cannot_make_a_search(void **state) {
    (void)state;
    static const char *const forms[] = {"HEAD", "@{-1}", "@{-2}", "@{-3}"};
    make_history(1);
    sh("cd r && id=$(git rev-parse HEAD) && for from in c38 'HEAD^{/fix}' :/fix; do printf '%%s %%s C <c@example.com> 1600000000"
       " +0000\\tcheckout: moving from %%s to main\\n' $id $id \"$from\"; done >>.git/logs/HEAD");
    assert_as_git(forms, sizeof forms / sizeof forms[0]);
}

static void move(const char *ref, const char *to, int64_t time_s) {
    sh("cd r && GIT_COMMITTER_DATE='%lld +0000' git update-ref -m test %s %s", (long long)time_s, ref, to);
}

static void reflogs_are_read_by_time_as_by_git(void **state) {
    (void)state;
    static const char *const relative[] = {"main@{now}",
                                           "main@{yesterday}",
                                           "main@{23.hours.ago}",
                                           "main@{2.days.ago}",
                                           "main@{1 week ago}",
                                           "main@{6.weeks.ago}",
                                           "main@{2.months.ago}",
                                           "main@{3.years.ago}",
                                           "@{yesterday}",
                                           "HEAD@{yesterday}",
                                           "refs/heads/main@{1.week.ago}",
                                           "heads/main@{1.week.ago}",
                                           "@{1.week.ago}~1",
                                           "main@{1.week.ago}^{/x}",
                                           "lag@{now}",
                                           "lag@{2.days.ago}",
                                           "lag@{3.years.ago}",
                                           "back@{now}",
                                           "back@{2.days.ago}",
                                           "back@{1.week.ago}",
                                           "back@{6.weeks.ago}",
                                           "again@{now}",
                                           "again@{36.hours.ago}",
                                           "again@{1.week.ago}",
                                           "v1@{now}",
                                           "both@{1.week.ago}",
                                           "gone@{now}",
                                           "nothing@{now}",
                                           "cut@{6.weeks.ago}",
                                           "cut@{1.week.ago}",
                                           "main@{200000000}"};
    const int64_t day = 86400;
    const int64_t now = (int64_t)time(NULL);
    make_history(9);
    sh("cd r && git symbolic-ref HEAD refs/heads/main");
    move("HEAD", "c35~3", now - 100 * day);
    move("HEAD", "c36", now - 30 * day);
    move("HEAD", "c37", now - 30 * day);
    move("HEAD", "c38", now - 3 * day);
    move("HEAD", "c39", now - day - 1800);
    move("HEAD", "c40", now - 3600);
    move("refs/heads/lag", "c36", now - 20 * day); /* later the ref moves without an entry */
    move("refs/heads/lag", "c37", now - 5 * day);
    sh("cd r && git rev-parse c40 >.git/refs/heads/lag");
    move("refs/heads/back", "c36", now - 10 * day); /* the clock goes back between entries */
    move("refs/heads/back", "c37", now - 40 * day);
    move("refs/heads/back", "c38", now - 3 * day);
    move("refs/heads/again", "c36", now - 10 * day); /* the ref was deleted and made again */
    sh("cd r && cp .git/logs/refs/heads/again ../log && git update-ref -d refs/heads/again");
    move("refs/heads/again", "c38", now - day);
    sh("cd r && cat .git/logs/refs/heads/again >>../log && echo 'not an entry' >>../log && cp ../log .git/logs/refs/heads/again");
    move("refs/heads/cut", "c35", now - 20 * day); /* the oldest entry has expired */
    move("refs/heads/cut", "c36", now - 10 * day);
    move("refs/heads/cut", "c37", now - 3 * day);
    sh("cd r && sed -i 1d .git/logs/refs/heads/cut");
    move("refs/heads/both", "c36", now - 20 * day); /* a tag without a log has the same name */
    move("refs/heads/both", "c37", now - 5 * day);
    sh("cd r && git -c core.logAllRefUpdates=false tag both c39");
    assert_as_git(relative, sizeof relative / sizeof relative[0]);
    /* The forms name the time of an entry, one second before it, and one second after it, in several time
     * zones. */
    char texts[3 * 6][64];
    const char *forms[3 * 6];
    size_t count = 0;
    for (unsigned entry = 0; entry < 3; entry++)
        for (int around = -1; around <= 1; around++)
            for (unsigned form = 0; form < 2; form++) {
                time_t at = (time_t)(now - (entry == 0 ? 3600 : entry == 1 ? 3 * day : 100 * day)) + around;
                struct tm parts;
                time_t shown = form == 0 ? at : at + 5400;
                assert_non_null(gmtime_r(&shown, &parts));
                assert_true(
                    strftime(texts[count], sizeof texts[count],
                             form == 0 ? "main@{%Y-%m-%dT%H:%M:%SZ}" : "main@{%Y-%m-%d %H:%M:%S +0130}",
                             &parts) > 0);
                forms[count] = texts[count];
                count++;
            }
    assert_as_git(forms, count);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, maker_setup, maker_teardown)
    const struct CMUnitTest tests[] = {
        TEST(messages_are_found_as_by_git),
        TEST(characters_are_those_of_the_locale),
        TEST(a_long_message_is_searched_at_its_start),
        TEST(a_missing_commit_is_an_error_unless_the_search_ends_before),
        TEST(a_reflog_cannot_make_a_search),
        TEST(reflogs_are_read_by_time_as_by_git),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
