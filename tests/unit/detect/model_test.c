#include "model_score.h"

#include "support/cmocka.h"

#include <string.h>

static int32_t score(const char *name, const char *secret) {
    struct detect_sight sight = {
        .secret = ts_bytes_of_cstring(secret), .name = ts_bytes_of_cstring(name), .rule = "generic-password"};
    return detect__model_score(&sight, NULL, NULL);
}

static void random_letters_surprise_more_than_words(void **state) {
    (void)state;
    assert_true(detect__model_surprise(TS_BYTES("wegzyjgdwapc1yc7vde9zldwdziv")) >= 60);
    assert_true(detect__model_surprise(TS_BYTES("options.database.password")) < 50);
    assert_int_equal(detect__model_surprise(TS_BYTES("x")), 0);
    assert_int_equal(detect__model_surprise(TS_BYTES("")), 0);
}

static void passwords_score_above_names_and_hashes(void **state) {
    (void)state;
    assert_true(score("password", "tUr9-kQz4-Wm2x") > score("password", "reset-password-form"));
    assert_true(score("password", "tUr9-kQz4-Wm2x") > score("password", "fa4e7dead1beef2c0ffee5bad6f00d93"));
}

static void add_part(void *context, const char *feature, int32_t weight) {
    assert_true(strlen(feature) > 0);
    *(int32_t *)context += weight;
}

static void the_parts_of_a_score_add_up(void **state) {
    (void)state;
    int32_t sum = 0;
    struct detect_sight sight = {.secret = TS_BYTES("tUr9-kQz4-Wm2x"),
                                 .name = TS_BYTES("dbPassword"),
                                 .before = TS_BYTES("expect("),
                                 .rule = "generic-password"};
    int32_t whole = detect__model_score(&sight, add_part, &sum);
    assert_int_equal(whole, sum);
    assert_true(whole != 0);
}

static void tests_and_documents_lower_what_people_choose(void **state) {
    (void)state;
    struct ts_rule scored = {.id = "a", .scored = true};
    struct ts_rule password = {.id = "b", .validators = {TS_VALIDATOR_PASSWORD}, .validator_count = 1};
    struct ts_rule jwt = {.id = "d", .validators = {TS_VALIDATOR_JWT}, .validator_count = 1};
    struct ts_rule token = {.id = "c"};
    struct ts_model_match sure = {TS_CONFIDENCE_HIGH, 3000};
    struct ts_model_match invented = {TS_CONFIDENCE_LOW, TS_MODEL_SCORE_LEAST};
    assert_int_equal(ts_model_confidence_at(&scored, sure, "src/app.py"), TS_CONFIDENCE_HIGH);
    assert_int_equal(ts_model_confidence_at(&scored, sure, "tests/app.py"), TS_CONFIDENCE_LOW);
    assert_int_equal(ts_model_confidence_at(&scored, invented, "src/app.py"), TS_CONFIDENCE_LOW);
    assert_int_equal(ts_model_confidence_at(&password, sure, "README.md"), TS_CONFIDENCE_LOW);
    assert_int_equal(ts_model_confidence_at(&password, sure, ""), TS_CONFIDENCE_HIGH);
    assert_int_equal(ts_model_confidence_at(&jwt, sure, "tests/app.py"), TS_CONFIDENCE_LOW);
    assert_int_equal(ts_model_confidence_at(&token, sure, "tests/app.py"), TS_CONFIDENCE_HIGH);
    /* In a program, a line of YAML is part of a comment or of an example. */
    struct ts_rule line = {.id = "generic-yaml-password", .scored = true};
    assert_int_equal(ts_model_confidence_at(&line, sure, "conf/app.yml"), TS_CONFIDENCE_HIGH);
    assert_int_equal(ts_model_confidence_at(&line, sure, "src/app.py"), TS_CONFIDENCE_LOW);
    assert_int_equal(ts_model_confidence_at(&scored, sure, "vectors/app.txt"), TS_CONFIDENCE_LOW);
}

static void probabilities_follow_the_odds(void **state) {
    (void)state;
    assert_int_equal(ts_model_probability(0), 500);
    assert_int_equal(ts_model_probability(1000), 731);
    assert_int_equal(ts_model_probability(-40000), 0);
    assert_int_equal(ts_model_probability(40000), 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_letters_surprise_more_than_words),
        cmocka_unit_test(passwords_score_above_names_and_hashes),
        cmocka_unit_test(the_parts_of_a_score_add_up),
        cmocka_unit_test(tests_and_documents_lower_what_people_choose),
        cmocka_unit_test(probabilities_follow_the_odds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
