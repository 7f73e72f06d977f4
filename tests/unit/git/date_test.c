/* Dates are read as git reads them, at several times and in several zones. */
#include "date.h"

#include "repo_maker.h"

#include <time.h>

static const char *const dates[] = {"now",
                                    "yesterday",
                                    "Yesterday",
                                    "1.second.ago",
                                    "90.seconds.ago",
                                    "1.minute.ago",
                                    "5.minutes.ago",
                                    "5 minutes ago",
                                    "5.minutes",
                                    "7.HOURS.ago",
                                    "0.days.ago",
                                    "1.day.ago",
                                    "200.days.ago",
                                    "2.weeks.ago",
                                    "1.month.ago",
                                    "7.months.ago",
                                    "30.months.ago",
                                    "1.year.ago",
                                    "3.years.ago",
                                    "1 month 2 weeks 3 days 1 hour 1 second ago",
                                    "1.year.1.month.ago",
                                    "1.month.1.month.ago",
                                    "3.hours.1.year.ago",
                                    "noon",
                                    "midnight",
                                    "tea",
                                    "yesterday noon",
                                    "yesterday.midnight",
                                    "noon yesterday",
                                    "yesterday 9:30",
                                    "today at 10:00",
                                    "noon today",
                                    "last week",
                                    "last.month",
                                    "last year",
                                    "last friday",
                                    "last.Tue",
                                    "last wednesday",
                                    "last thursday at 9:30",
                                    "last saturday noon",
                                    "last sunday",
                                    "last mon",
                                    "2 fridays ago",
                                    "one week ago",
                                    "ten days ago",
                                    "March",
                                    "last march",
                                    "March 3",
                                    "Mar 3rd",
                                    "3.March",
                                    "Dec 31",
                                    "3 March 2024",
                                    "March 3, 2022",
                                    "2021 July 4",
                                    "1 Apr 05",
                                    "July 2022",
                                    "31 feb 2023",
                                    "4 July 2022 noon",
                                    "4 July 2022 12:34:56",
                                    "2023-01-31",
                                    "2023-7-4",
                                    "2023-02-31",
                                    "2023-01-31 12:00",
                                    "2023-07-31 12:00:30",
                                    "2023-07-31T12:00:30",
                                    "2023-03-26 02:30:00",
                                    "2023-11-05 01:30:00",
                                    "2023-01-31T12:00:30Z",
                                    "2023-01-31T12:00:30.125Z",
                                    "2023-01-31 12:00 +0130",
                                    "2023-01-31T12:00:00+05:45",
                                    "2023-01-31 12:00:00 -08",
                                    "2023-07-31 23:59:60 -0330",
                                    "2023-01-31 24:00:00"};

static void each_is_that_of_git(void **state) {
    (void)state;
    static const char *const zones[] = {"UTC", "EST5EDT,M3.2.0,M11.1.0", "CET-1CEST,M3.5.0,M10.5.0/3",
                                        "<+0545>-5:45"};
    /* An ordinary day, February 29, March 31, and hours around a change of the clock. */
    static const int64_t nows[] = {1700000000, 1709208000, 1711886400, 1711848000, 1730008799, 1699164000};
    size_t count = sizeof dates / sizeof dates[0];
    char command[6000];
    sh("git init -q r");
    for (size_t zone = 0; zone < sizeof zones / sizeof zones[0]; zone++)
        for (size_t now = 0; now < sizeof nows / sizeof nows[0]; now++) {
            assert_int_equal(setenv("TZ", zones[zone], 1), 0);
            int len = snprintf(command, sizeof command, "GIT_TEST_DATE_NOW=%lld git -C r rev-parse",
                               (long long)nows[now]);
            for (size_t i = 0; i < count; i++)
                len += snprintf(command + len, sizeof command - (size_t)len, " '--since=%s'", dates[i]);
            assert_true((size_t)len < sizeof command);
            char *answers = output_of(NULL, "%s", command);
            const char *at = answers;
            for (size_t i = 0; i < count; i++) {
                static const char before[] = "--max-age=";
                int64_t read_s = -1;
                assert_memory_equal(at, before, sizeof before - 1);
                char *end;
                long long expected = strtoll(at + sizeof before - 1, &end, 10);
                at = end + 1;
                if (!git__date_read(dates[i], nows[now], &read_s) || read_s != expected)
                    fail_msg("%s at %lld in %s: git says %lld, this %lld", dates[i], (long long)nows[now],
                             zones[zone], expected, (long long)read_s);
            }
            free(answers);
        }
    unsetenv("TZ");
}

static void other_forms_are_refused(void **state) {
    (void)state;
    static const char *const bad[] = {"",
                                      "ago",
                                      "today",
                                      "friday",
                                      "last",
                                      "last ago",
                                      "last fri ago 3",
                                      "ma 3",
                                      "March 0",
                                      "March 45",
                                      "March 3 2024 5",
                                      "March April",
                                      "3 4 March",
                                      "3 noon",
                                      "3x March",
                                      "0 fridays ago",
                                      "next week",
                                      "12:",
                                      "a week ago",
                                      "5",
                                      "5.minutes.hence",
                                      "5.fortnights.ago",
                                      "5..",
                                      "5minutes",
                                      "1.5.days.ago",
                                      "-5.minutes.ago",
                                      "99999999999.days.ago",
                                      "2023-13-01",
                                      "2023-01-32",
                                      "1969-01-01",
                                      "2023-01",
                                      "2023-01-31 ",
                                      "2023-01-31 25:00",
                                      "2023-01-31 12:60",
                                      "2023-01-31 12:00:61",
                                      "2023-01-31 12:00.",
                                      "2023-01-31 12:00:00.",
                                      "2023-01-31 12:00 CETX",
                                      "2023-01-31 12:00 +1",
                                      "2023-01-31 12:00 +2400",
                                      "2023-01-31 12:00 +01:60",
                                      "2023-01-31 12:00 +0100x",
                                      "31.01.2023"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int64_t read_s = -1;
        if (git__date_read(bad[i], 1700000000, &read_s) || read_s != -1)
            fail_msg("read as %lld: %s", (long long)read_s, bad[i]);
    }
}

static void a_time_before_1970_is_the_first_of_all(void **state) {
    (void)state;
    int64_t read_s = -1;
    assert_true(git__date_read("90.years.ago", 1700000000, &read_s));
    assert_int_equal(read_s, 0);
}

static void since_today_and_since_a_weekday_are_not_now(void **state) {
    (void)state;
    static const char *const same[][2] = {{"today", "midnight"},
                                          {"friday", "last friday"},
                                          {"Tue", "last tuesday"},
                                          {"2.weeks.ago", "14 days"}};
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        int64_t read_s = -1;
        int64_t expected = -2;
        assert_true(ts_git_since_read(same[i][0], 1700000000, &read_s));
        assert_true(git__date_read(same[i][1], 1700000000, &expected));
        assert_int_equal(read_s, expected);
    }
    int64_t unchanged = -1;
    assert_false(ts_git_since_read("someday", 1700000000, &unchanged));
    assert_int_equal(unchanged, -1);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, maker_setup, maker_teardown)
    const struct CMUnitTest tests[] = {
        TEST(each_is_that_of_git),
        TEST(other_forms_are_refused),
        TEST(since_today_and_since_a_weekday_are_not_now),
        TEST(a_time_before_1970_is_the_first_of_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
