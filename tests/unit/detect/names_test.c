#include "validate.h"

#include "support/cmocka.h"

#include <string.h>

static const char uuid[] = "fa4e7dea-d1be-4f2c-90ff-ee5bad6f00d9";
static const char value[] = "Fake7Turnstone2Only9A4Test6Key8Z";

static enum detect_verdict verdict(const char *name, const char *secret) {
    return detect__validate(TS_VALIDATOR_CREDENTIAL_NAME, ts_bytes_of_cstring(name),
                            ts_bytes_of_cstring(secret));
}

static void names_of_credentials_stay(void **state) {
    (void)state;
    static const char *const names[] = {
        "token",
        "accessToken",
        "API_KEY",
        "db.password",
        "SECRET_KEY_BASE",
        "context_token",
        "clientToken",
        "requestToken",
        "client_secret",
        "publisher_token",
        "android_token",
        "token1",
        "paid.secret",
        "PRIVATE-TOKEN",
        "x",
        "",
        "--token",
        "secret_2",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (verdict(names[i], value) != DETECT_KEEP)
            fail_msg("%s is taken for no credential", names[i]);
}

static void names_of_properties_of_a_credential_are_rejected(void **state) {
    (void)state;
    static const char *const names[] = {
        "private_key_id", "accessKeyId", "AWS_ACCESS_KEY_ID", "tokenID",   "secretName", "token_type",
        "secret.arn",     "token-url",   "SECRET_ID2",        "tokenizer", "key_id_"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (verdict(names[i], value) != DETECT_REJECT)
            fail_msg("%s is taken for a credential", names[i]);
}

/* Names of files, public keys, invitations, users and other public values are rejected. */
static void names_of_public_values_are_rejected(void **state) {
    (void)state;
    static const char key_id[] = "FA4E7DEAD1BEEF2C";
    static const char invitation[] = "Fake7Turnstone2Only9A4Test6Key8ZFake7Turnstone2Only9A4Test6Key8/";
    assert_int_equal(verdict("TokenGuard.php", value), DETECT_REJECT);
    assert_int_equal(verdict("token-agent-7.1.gem", value), DETECT_REJECT);
    assert_int_equal(verdict("token_rev", value), DETECT_REJECT);
    assert_int_equal(verdict("tokenRevision", value), DETECT_REJECT);
    assert_int_equal(verdict("reset.token", value), DETECT_KEEP);
    assert_int_equal(verdict("signingkey", key_id), DETECT_REJECT);
    assert_int_equal(verdict("signingKey", value), DETECT_KEEP);
    assert_int_equal(verdict("authKey", invitation), DETECT_REJECT);
    assert_int_equal(verdict("authKey", value), DETECT_KEEP);
    assert_int_equal(verdict("AUTH_KEY", invitation), DETECT_KEEP);
    assert_int_equal(verdict("Postman-Token", uuid), DETECT_REJECT);
    assert_int_equal(verdict("auth.username_in", value), DETECT_REJECT);
    assert_int_equal(verdict("token_accessor", uuid), DETECT_REJECT);
    assert_int_equal(verdict("sonar.projectKey", value), DETECT_REJECT);
    assert_int_equal(verdict("PARTITION_KEY", value), DETECT_REJECT);
    assert_int_equal(verdict("recaptchaSiteKey", value), DETECT_REJECT);
    assert_int_equal(verdict("projectKey", "fa4e7dead1beef2c0ffee5bad6f00d93"), DETECT_KEEP);
    assert_int_equal(verdict("storage_key", value), DETECT_KEEP);
    assert_int_equal(verdict("primaryKey", value), DETECT_KEEP);
    assert_int_equal(verdict("routing_key", value), DETECT_KEEP);
    assert_int_equal(verdict("module.x.aws_secretsmanager_secret.db", value), DETECT_REJECT);
}

/* Every visitor of a page gets the hidden fields of its forms, so their values are not secret. */
static void tokens_of_forms_are_rejected(void **state) {
    (void)state;
    assert_int_equal(verdict("authenticity_token", value), DETECT_REJECT);
    assert_int_equal(verdict("org.apache.struts.taglib.html.TOKEN", value), DETECT_REJECT);
    assert_int_equal(verdict("formToken", value), DETECT_REJECT);
    assert_int_equal(verdict("platform_token", value), DETECT_KEEP);
    assert_int_equal(verdict("opaquelocktoken", uuid), DETECT_REJECT);
}

static void a_value_that_is_its_own_name_is_rejected(void **state) {
    (void)state;
    assert_int_equal(verdict("self.p256PrivateKey", "p256PrivateKey"), DETECT_REJECT);
    assert_int_equal(verdict("session_token2", "sessionToken2"), DETECT_REJECT);
    assert_int_equal(verdict("self.p256PrivateKey", "p521PrivateKey"), DETECT_KEEP);
    assert_int_equal(verdict("KEY8_BLOB", "KEY8_PRIVATEKEY"), DETECT_REJECT);
    assert_int_equal(verdict("KEY8_BLOB", "KEY8_PRIVATEKEz"), DETECT_KEEP);
}

static void tokens_that_only_pass_by_go_however_they_are_written(void **state) {
    (void)state;
    static const char *const names[] = {
        "NextToken",        "next_token",
        "NEXT-TOKEN",       "nexttoken",
        "nextPageToken",    "WebACLLockToken",
        "IdempotencyToken", "continuation.token",
        "csrf_token",       "csrfmiddlewaretoken",
        "X-XSRF-TOKEN",     "__RequestVerificationToken",
        "publicToken",      "PrivateKeyCiphertextBlob",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (verdict(names[i], value) != DETECT_REJECT)
            fail_msg("%s is taken for a credential", names[i]);
}

static void a_uuid_says_which_request_it_was(void **state) {
    (void)state;
    assert_int_equal(verdict("ClientToken", uuid), DETECT_REJECT);
    assert_int_equal(verdict("clientRequestToken", uuid), DETECT_REJECT);
    assert_int_equal(verdict("accessToken", uuid), DETECT_KEEP);
    /* A secret_id that is a uuid is one half of a login. Any other secret_id is just a name. */
    assert_int_equal(verdict("secret_id", uuid), DETECT_KEEP);
    assert_int_equal(verdict("secret_id", value), DETECT_REJECT);
}

static void name_is(const char *text, struct ts_span before, const char *expected) {
    struct ts_bytes name = detect__name_before(ts_bytes_of_cstring(text), before);
    if (!ts_bytes_equal(name, ts_bytes_of_cstring(expected)))
        fail_msg("the name in %s is %.*s", text, (int)name.len, (const char *)name.data);
}

static void a_name_begins_before_the_match(void **state) {
    (void)state;
    name_is("a next_token = \"x", (struct ts_span){7, 9}, "next_token");
    name_is("$c[\"api.key\"] = \"x", (struct ts_span){4, 13}, "api.key");
    name_is("next = \"x", (struct ts_span){5, 3}, "");
    name_is("token=x", (struct ts_span){0, 6}, "token");
    name_is("  checksum/secret: x", (struct ts_span){11, 8}, "checksum/secret");
    name_is("  checksums/secret: x", (struct ts_span){12, 8}, "secret");
    name_is("x?alt=media&token=x", (struct ts_span){12, 6}, "alt=media&token");
    assert_int_equal(verdict("checksum/secret", value), DETECT_REJECT);
    assert_int_equal(verdict("alt=media&token", uuid), DETECT_LOWER);
    char text[TS_RULE_NAME_BEFORE + 16];
    memset(text, 'a', sizeof text);
    memcpy(text + TS_RULE_NAME_BEFORE + 8, "token=x", 8);
    struct ts_bytes name =
        detect__name_before(ts_bytes_of_cstring(text), (struct ts_span){TS_RULE_NAME_BEFORE + 8, 6});
    assert_int_equal(name.len, TS_RULE_NAME_BEFORE + 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_credentials_stay),
        cmocka_unit_test(names_of_public_values_are_rejected),
        cmocka_unit_test(tokens_of_forms_are_rejected),
        cmocka_unit_test(a_value_that_is_its_own_name_is_rejected),
        cmocka_unit_test(names_of_properties_of_a_credential_are_rejected),
        cmocka_unit_test(tokens_that_only_pass_by_go_however_they_are_written),
        cmocka_unit_test(a_uuid_says_which_request_it_was),
        cmocka_unit_test(a_name_begins_before_the_match),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
