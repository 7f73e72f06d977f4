#include "validate.h"

#include "support/cmocka.h"

#include <string.h>

static enum detect_verdict verdict(enum ts_validator validator, const char *secret) {
    return detect__validate(validator, (struct ts_bytes){0}, ts_bytes_of_cstring(secret));
}

static void a_checksum_decides_about_github_tokens(void **state) {
    (void)state;
    /* The checksum is the CRC-32 of the thirty characters after the underscore, in base 62. Another program
     * computed it. */
    static const char body[] = "ghp_"
                               "Fake7Turnstone2Only9A4Test6Key";
    char token[64];
    for (int wrong = 0; wrong < 2; wrong++) {
        snprintf(token, sizeof token, "%s%s", body, wrong ? "000000" : "2uTXR0");
        assert_int_equal(verdict(TS_VALIDATOR_GITHUB_CRC, token), wrong ? DETECT_LOWER : DETECT_RAISE);
    }
    assert_int_equal(verdict(TS_VALIDATOR_GITHUB_CRC, "ghp_x"), DETECT_REJECT);
}

static void key_ids_of_aws_are_base_32(void **state) {
    (void)state;
    assert_int_equal(verdict(TS_VALIDATOR_AWS_KEY_ID, "AKIAFAKE7TURNSTONE2O"), DETECT_KEEP);
    assert_int_equal(verdict(TS_VALIDATOR_AWS_KEY_ID, "AKIAFAKE9TURNSTONE2O"), DETECT_REJECT);
    assert_int_equal(verdict(TS_VALIDATOR_AWS_KEY_ID, "AKIA7777777777777777"), DETECT_LOWER);
    assert_int_equal(verdict(TS_VALIDATOR_AWS_KEY_ID, "AKIA"), DETECT_REJECT);
}

static void a_jwt_has_an_algorithm_and_claims(void **state) {
    (void)state;
    /* The header is {"alg":"HS256"}, and the payload is {"a":1}. */
    assert_int_equal(verdict(TS_VALIDATOR_JWT, "eyJhbGciOiJIUzI1NiJ9.eyJhIjoxfQ.c2ln"), DETECT_KEEP);
    /* The header is {"alg":"none"}. */
    assert_int_equal(verdict(TS_VALIDATOR_JWT, "eyJhbGciOiJub25lIn0.eyJhIjoxfQ.c2ln"), DETECT_LOWER);
    /* The header is {"alg":"NonE"}. */
    assert_int_equal(verdict(TS_VALIDATOR_JWT, "eyJhbGciOiJOb25FIn0.eyJhIjoxfQ.c2ln"), DETECT_LOWER);
    /* The header {"typ":"JWT!!"} has no algorithm. */
    assert_int_equal(verdict(TS_VALIDATOR_JWT, "eyJ0eXAiOiJKV1QhISJ9.eyJhIjoxfQ.c2ln"), DETECT_REJECT);
    assert_int_equal(verdict(TS_VALIDATOR_JWT, "eyJhbGciOiJIUzI1NiJ9"), DETECT_REJECT);
    /* {"typ":"JWT","alg":"ed25519-nkey"}, without and with "bearer_token":true */
    assert_int_equal(verdict(TS_VALIDATOR_JWT, "eyJ0eXAiOiJKV1QiLCJhbGciOiJlZDI1NTE5LW5rZXkifQ"
                                               ".eyJzdWIiOiJVIiwibmF0cyI6eyJ0eXBlIjoidXNlciJ9fQ.c2ln"),
                     DETECT_LOWER);
    assert_int_equal(verdict(TS_VALIDATOR_JWT,
                             "eyJ0eXAiOiJKV1QiLCJhbGciOiJlZDI1NTE5LW5rZXkifQ"
                             ".eyJzdWIiOiJVIiwibmF0cyI6eyJiZWFyZXJfdG9rZW4iOnRydWV9fQ.c2ln"),
                     DETECT_KEEP);
}

static void a_pem_body_is_der_of_its_length_or_openssh(void **state) {
    (void)state;
    /* The key's bytes are 30 06 02 01 00 02 01 07. */
    assert_int_equal(verdict(TS_VALIDATOR_PEM,
                             "-----BEGIN EC PRIVATE KEY-----\nMAYCAQACAQc=\n-----END EC PRIVATE KEY-----"),
                     DETECT_RAISE);
    /* The length in this key is 7 bytes too large. */
    assert_int_equal(verdict(TS_VALIDATOR_PEM,
                             "-----BEGIN EC PRIVATE KEY-----\nMA0CAQACAQc=\n-----END EC PRIVATE KEY-----"),
                     DETECT_LOWER);
    assert_int_equal(verdict(TS_VALIDATOR_PEM, "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----"),
                     DETECT_REJECT);
}

/* Returns the verdict on a key in PEM. The DER has made-up bytes and states `whole` bytes as its size, but
 * only the first `given` bytes are present. */
static enum detect_verdict verdict_on_der(size_t whole, size_t given, const char *line_break) {
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint8_t der[1204] = {0x30};
    if (whole < 130)
        der[1] = (uint8_t)(whole - 2);
    else if (whole < 259)
        memcpy(der + 1, (uint8_t[]){0x81, (uint8_t)(whole - 3)}, 2);
    else
        memcpy(der + 1, (uint8_t[]){0x82, (uint8_t)((whole - 4) >> 8), (uint8_t)(whole - 4)}, 3);
    for (size_t i = 4; i < whole; i++)
        der[i] = (uint8_t)(i * 167 + 13);
    char text[2048];
    size_t len = (size_t)snprintf(text, sizeof text, "-----BEGIN PRIVATE KEY-----%s", line_break);
    for (size_t i = 0; i < given; i += 3) {
        uint32_t group = (uint32_t)der[i] << 16 | (uint32_t)der[i + 1] << 8 | der[i + 2];
        for (size_t j = 0; j < 4; j++)
            text[len++] = j <= given - i ? alphabet[group >> (18 - 6 * j) & 63] : '=';
        if (i % 48 == 45)
            len += (size_t)snprintf(text + len, sizeof text - len, "%s", line_break);
    }
    snprintf(text + len, sizeof text - len, "%s-----END PRIVATE KEY-----", line_break);
    return verdict(TS_VALIDATOR_PEM, text);
}

/* Keys of Ed25519 and P-256 have 48 and 138 bytes, so their base64 has no padding, and only the dashes end
 * the body. */
static void a_pem_body_ends_before_the_dashes(void **state) {
    (void)state;
    static const char *const breaks[] = {"\n", "\r\n", "\\n"};
    for (size_t i = 0; i < sizeof breaks / sizeof breaks[0]; i++) {
        for (size_t whole = 48; whole <= 1200; whole += whole == 48 ? 90 : 59) {
            assert_int_equal(verdict_on_der(whole, whole, breaks[i]), DETECT_RAISE);
            for (size_t missing = 1; missing < 12; missing++)
                assert_int_equal(verdict_on_der(whole, whole - missing, breaks[i]), DETECT_LOWER);
        }
    }
}

static void a_nats_seed_has_a_checksum(void **state) {
    (void)state;
    char seed[] = "SUAEMYLL"
                  "MU3VI5LSNZZXI33OMUZE63TMPE4UCNCUMVZXINSLMV4TQWVQ3Q";
    assert_int_equal(verdict(TS_VALIDATOR_NATS_CRC, seed), DETECT_RAISE);
    seed[20] = seed[20] == 'A' ? 'B' : 'A';
    assert_int_equal(verdict(TS_VALIDATOR_NATS_CRC, seed), DETECT_LOWER);
    seed[20] = '1';
    assert_int_equal(verdict(TS_VALIDATOR_NATS_CRC, seed), DETECT_REJECT);
    seed[20] = '\0';
    assert_int_equal(verdict(TS_VALIDATOR_NATS_CRC, seed), DETECT_REJECT);
}

static void an_age_key_has_a_checksum(void **state) {
    (void)state;
    char key[] = "AGE-SECRET-"
                 "KEY-1R23CLXD5MZFSH79VN6PG0KAYTJEQ8W4UR23CLXD5MZFSH79VN6PGP5X68K";
    assert_int_equal(verdict(TS_VALIDATOR_AGE, key), DETECT_RAISE);
    char *last = key + strlen(key) - 1;
    *last = *last == 'Q' ? 'P' : 'Q';
    assert_int_equal(verdict(TS_VALIDATOR_AGE, key), DETECT_LOWER);
    *last = 'B';
    assert_int_equal(verdict(TS_VALIDATOR_AGE, key), DETECT_REJECT);
}

static void structure_is_looked_at(void **state) {
    (void)state;
    assert_int_equal(verdict(TS_VALIDATOR_HEX, "fa4e7dead1"), DETECT_KEEP);
    assert_int_equal(verdict(TS_VALIDATOR_HEX, "fa4E7dead1"), DETECT_REJECT);
    assert_int_equal(verdict(TS_VALIDATOR_HEX, "1234567890"), DETECT_REJECT);
    assert_int_equal(verdict(TS_VALIDATOR_BASE64, "Zm9vYg=="), DETECT_KEEP);
    assert_int_equal(verdict(TS_VALIDATOR_BASE64, "Zm9vYg="), DETECT_REJECT);
    assert_int_equal(verdict(TS_VALIDATOR_MIXED, "abcdefgh"), DETECT_REJECT);
    assert_int_equal(verdict(TS_VALIDATOR_MIXED, "abc4efg7"), DETECT_KEEP);
    assert_int_equal(verdict(TS_VALIDATOR_MIXED, "tss_qvtzqpuZoKrbKpsGdcWsZGIsWDoBzzfG"), DETECT_KEEP);
    assert_int_equal(verdict(TS_VALIDATOR_MIXED, "tss_nameOfTheStorageOfSettings"), DETECT_REJECT);
    assert_int_equal(verdict(TS_VALIDATOR_MIXED, "rnd_roundTripTimeOfPacketsInUse"), DETECT_REJECT);
    assert_int_equal(verdict(TS_VALIDATOR_SLACK, "xoxb-409172635484-x"), DETECT_RAISE);
    assert_int_equal(verdict(TS_VALIDATOR_SLACK, "xoxb-1-x"), DETECT_LOWER);
    assert_int_equal(verdict(TS_VALIDATOR_DISCORD, "NDA5MTcyNjM1NDg0MDkxNzI2.x.y"), DETECT_RAISE);
    assert_int_equal(verdict(TS_VALIDATOR_DISCORD, "Nobody.x.y"), DETECT_REJECT);
    assert_int_equal(verdict(TS_VALIDATOR_UUID, "fa4e7dea-d1be-4f2c-90ff-ee5bad6f00d9"), DETECT_KEEP);
    assert_int_equal(verdict(TS_VALIDATOR_UUID, "fa4e7dea-d1be-1f2c-90ff-ee5bad6f00d9"), DETECT_LOWER);
}

static void values_of_credential_files_need_no_shape(void **state) {
    (void)state;
    static const char *const weak[] = {
        "changeme", "password",  "secret1",  "your-password",
        "abc",      "xxxxxxxx",  "db_token", "fa4e7dead1beef2c0ffee5bad6f00d93",
        "xxxx",     "kestrel..."};
    static const char *const elsewhere[] = {
        "${DB_PASSWORD}", "{{ vault_db }}", "<password>",
        "$DB_PASSWORD",   "%PW%",           "$2b$12$Fake7Turnstone2Only9A4uTest6Key8Zq3Wv1Fa",
        "true",           "null",           "@db.password@"};
    assert_int_equal(verdict(TS_VALIDATOR_STORED, "hunter2"), DETECT_KEEP);
    assert_int_equal(verdict(TS_VALIDATOR_STORED, "admin123"), DETECT_KEEP);
    assert_int_equal(verdict(TS_VALIDATOR_STORED, "passwd1"), DETECT_LOWER);
    assert_int_equal(verdict(TS_VALIDATOR_STORED, "kestrel"), DETECT_KEEP);
    for (size_t i = 0; i < sizeof weak / sizeof weak[0]; i++)
        assert_int_equal(verdict(TS_VALIDATOR_STORED, weak[i]), DETECT_LOWER);
    for (size_t i = 0; i < sizeof elsewhere / sizeof elsewhere[0]; i++)
        assert_int_equal(verdict(TS_VALIDATOR_STORED, elsewhere[i]), DETECT_REJECT);
    assert_int_equal(verdict(TS_VALIDATOR_PASSWORD_HASH, "$6$kestrel7$Fake7Turnstone2Only9A4"), DETECT_KEEP);
    assert_int_equal(verdict(TS_VALIDATOR_PASSWORD_HASH, "fa4e7dead1beef2c0ffee5bad6f00d93"), DETECT_KEEP);
    assert_int_equal(verdict(TS_VALIDATOR_PASSWORD_HASH, "kestrel"), DETECT_REJECT);
    assert_int_equal(verdict(TS_VALIDATOR_PASSWORD_HASH, "00000000000000000000000000000000"), DETECT_REJECT);
}

static void passwords_are_no_words_and_no_code(void **state) {
    (void)state;
    static const char *const no[] = {"password",  "Password1!",    "admin123",      "abcde",
                                     "getenv(x)", "std::string",   "/home/me/w0rk", "a->b.c1",
                                     "12345678",  "some_password", "user@host1"};
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
        if (verdict(TS_VALIDATOR_PASSWORD, no[i]) != DETECT_REJECT)
            fail_msg("%s is taken for a password", no[i]);
    assert_int_equal(verdict(TS_VALIDATOR_PASSWORD, "Fak3-Tu4nst0ne"), DETECT_KEEP);
    assert_int_equal(verdict(TS_VALIDATOR_PASSWORD, "27017,h2:27018,h3:27019"), DETECT_REJECT);
    assert_int_equal(verdict(TS_VALIDATOR_PASSWORD, "27017,db-2.internal"), DETECT_REJECT);
    assert_int_equal(verdict(TS_VALIDATOR_PASSWORD, "270170,h2:27018"), DETECT_KEEP);
    assert_int_equal(verdict(TS_VALIDATOR_PASSWORD, "27017,h2:270180"), DETECT_KEEP);
    assert_int_equal(verdict(TS_VALIDATOR_PASSWORD, "27017,h2:27018!"), DETECT_KEEP);
    assert_int_equal(verdict(TS_VALIDATOR_PASSWORD, "27017,h2,"), DETECT_KEEP);
    assert_int_equal(verdict(TS_VALIDATOR_PASSWORD, "correct-horse"), DETECT_LOWER);
    assert_int_equal(verdict(TS_VALIDATOR_PASSWORD, "lowercase"), DETECT_LOWER);
    static const char *const demands[] = {
        "required|string|min:6",  "required|max:255", "required,min=8,max=72",
        "nullable|string|max:72", "lib,dlopen",       "PASSWORD_OF_STEP_6",
        "crwdns17:0crwdne17:0"};
    for (size_t i = 0; i < sizeof demands / sizeof demands[0]; i++)
        if (verdict(TS_VALIDATOR_PASSWORD, demands[i]) != DETECT_REJECT)
            fail_msg("%s is taken for a password", demands[i]);
    static const char *const passwords[] = {"kes7rel,granite", "Kestrel_Step_6", "STEP_SIX_6|"};
    for (size_t i = 0; i < sizeof passwords / sizeof passwords[0]; i++)
        if (verdict(TS_VALIDATOR_PASSWORD, passwords[i]) == DETECT_REJECT)
            fail_msg("%s is taken for no password", passwords[i]);
}

static void names_of_programs_are_distinguished_from_passwords(void **state) {
    (void)state;
    static const char *const no[] = {
        "String",        "user.Pass77w0rd",  "config.db-2.Pw11", "DB_PASSWORD_11",      "sha256-crypt",
        "MyPassword123", "UserAuth2Model",   "Secret-Name-42",   "2024-01-01",          "my_service_22",
        "Abc.d",         "no-Digits-At-All", "v1.2.3-rc1",       "noDigitsAtAllInThis", "iOSApp2"};
    static const char *const yes[] = {"S3cr3t-Pa55",    "MyPassword123!", "fak3tu4nst0ne!",
                                      "Fak3Tu4nst0ne",  "a1..B2",         "x1B2.",
                                      "tUrNsTfAk3oNeZ", "tUrNsTfAkEoNeZ", "fa4e7dea-d1be"};
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
        if (verdict(TS_VALIDATOR_NOT_NAME, no[i]) != DETECT_REJECT)
            fail_msg("%s is taken for a password", no[i]);
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++)
        if (verdict(TS_VALIDATOR_NOT_NAME, yes[i]) != DETECT_KEEP)
            fail_msg("%s is taken for a name", yes[i]);
    assert_int_equal(verdict(TS_VALIDATOR_NOT_NAME, "vault:secret/data/db#password1"), DETECT_REJECT);
    assert_int_equal(verdict(TS_VALIDATOR_NOT_NAME, "users/passwords#update2"), DETECT_REJECT);
    assert_int_equal(verdict(TS_VALIDATOR_NOT_NAME, "passwords#update2"), DETECT_REJECT);
    assert_int_equal(verdict(TS_VALIDATOR_NOT_NAME, "Turnstone#Fake12"), DETECT_KEEP);
    assert_int_equal(verdict(TS_VALIDATOR_NOT_NAME, "fak3/tu4nst0ne#x1"), DETECT_KEEP);
    assert_int_equal(verdict(TS_VALIDATOR_NOT_NAME, "fake/turnstone1#"), DETECT_KEEP);
    assert_int_equal(verdict(TS_VALIDATOR_NOT_NAME, "fake/turnstone#1"), DETECT_KEEP);
}

static void a_checksum_is_no_token_of_all_letters(void **state) {
    (void)state;
    assert_int_equal(verdict(TS_VALIDATOR_NOT_HEX, "fa4e7dead1beef2c0ffee5bad6f00d93"), DETECT_REJECT);
    assert_int_equal(verdict(TS_VALIDATOR_NOT_HEX, "fa4e7dead1beef2c0ffee5bad6f00d9g"), DETECT_KEEP);
}

static void logins_in_base64_are_judged_by_what_they_say(void **state) {
    (void)state;
    /* The values decode to ci:Fak3Tu4nst0ne and :Fak3Tu4nst0ne. */
    assert_int_equal(verdict(TS_VALIDATOR_BASIC, "Y2k6RmFrM1R1NG5zdDBuZQ=="), DETECT_KEEP);
    assert_int_equal(verdict(TS_VALIDATOR_BASIC, "OkZhazNUdTRuc3QwbmU="), DETECT_KEEP);
    /* The value decodes to ci:turnstone, which has a weak password. */
    assert_int_equal(verdict(TS_VALIDATOR_BASIC, "Y2k6dHVybnN0b25l"), DETECT_LOWER);
    /* The values decode to user:password, ci:changeme, ci:, cixTurnstone, and bytes that are not text. */
    static const char *const no[] = {"dXNlcjpwYXNzd29yZA==",
                                     "Y2k6Y2hhbmdlbWU=",
                                     "Y2k6",
                                     "Y2l4VHVybnN0b25l",
                                     "Fake7Turnstone2Only9A4Test6Key8Z",
                                     "Y2k6RmFrM1R1NG5zdDBuZQ="};
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
        if (verdict(TS_VALIDATOR_BASIC, no[i]) != DETECT_REJECT)
            fail_msg("%s is taken for a login", no[i]);
}

static void placeholders_are_no_secrets(void **state) {
    (void)state;
    static const char *const no[] = {"changeme",
                                     "<your-token>",
                                     "${TOKEN}",
                                     "{{ vault.token }}",
                                     "$TOKEN",
                                     "xxxxxxxxxxxx",
                                     "abababababab",
                                     "MY_EXAMPLE_KEY9",
                                     "%TOKEN%",
                                     "aaaaaaaaaaaab1",
                                     "your_api_key1",
                                     "****************",
                                     "",
                                     "@db.password@",
                                     "Kennwort...",
                                     "Kennwort&#8230;",
                                     "Contrase\u00f1a\u2026",
                                     "Neu:%1$s",
                                     "[parameters(",
                                     "md5fa4e7dead1beef2c0ffee5bad6f00d93"};
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
        if (detect__placeholder(ts_bytes_of_cstring(no[i])) != DETECT_REJECT)
            fail_msg("%s is taken for a secret", no[i]);
    assert_int_equal(detect__placeholder(TS_BYTES("q7w2e4r5t8y1u3i9")), DETECT_KEEP);
    static const char *const digests[] = {"sha256=Q7wX2vK9zP4mN8bT1cR6yL3hJ5gF0dS2aWeUiOpAkEj",
                                          "sha512-Q7wX2vK9zP4mN8bT1cR6yL3hJ5gF0dS2aWeUiOpAkEj",
                                          "ENC[AES256_GCM,Q7wX2v=,K9zP4mN8b=]",
                                          "{cipher}Q7wX2vK9zP4mN8bT1cR6yL3h",
                                          "StreamNames[-1]",
                                          "shop:$2y$10$Q7wX2vK9zP4mN8bT1cR6yL3hJ5g"};
    for (size_t i = 0; i < sizeof digests / sizeof digests[0]; i++)
        if (detect__placeholder(ts_bytes_of_cstring(digests[i])) != DETECT_REJECT)
            fail_msg("%s is taken for a secret", digests[i]);
    assert_int_equal(detect__placeholder(TS_BYTES("sha256-kestrel7")), DETECT_KEEP);
    assert_int_equal(detect__placeholder(TS_BYTES("Q7wX2v[K9]zP4m")), DETECT_KEEP);
    assert_int_equal(detect__placeholder(TS_BYTES("kestrel:$2")), DETECT_KEEP);
    assert_int_equal(detect__placeholder(TS_BYTES("@kestrel#7@")), DETECT_KEEP);
    assert_int_equal(detect__placeholder(TS_BYTES("md5fa4e7dead1beef2c0ffee5bad6f00d")), DETECT_KEEP);
    assert_int_equal(detect__placeholder(TS_BYTES("AKIAIOSFODNN7EXAMPLE")), DETECT_LOWER);
    assert_int_equal(
        detect__placeholder(TS_BYTES("Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/"
                                     "K1SZFPTOtr/KBHBeksoGMGw==")),
        DETECT_LOWER);
}

/* A name or an expression, whole or cut off, refers to a value elsewhere. Random characters do not refer to
 * anything. */
static void references_are_names_or_expressions(void **state) {
    (void)state;
    static const char *const no[] = {"${DB_PASSWORD:-x1}", "a1-${DB_PASS", "#{ENV['PW1']}",
                                     "#{settings['DB1",    "<%= @pw1 %>",  "{{ .Values.pw1 }}",
                                     "{%- pw1 -%}",        "q7{{ a.b1 }}z"};
    static const char *const yes[] = {"Ed&1cr+3T$a{P8LP5-V>Di_CUnSg{n[h#{D[-t>yIUZ8Y",
                                      "n56IRf$ud0cFJKAA1h_wA+qK>Lq&j9^-!{%%pW.Z=", "k8${>Tq2w!",
                                      "Q7{{w;X2vK9z"};
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
        if (detect__placeholder(ts_bytes_of_cstring(no[i])) != DETECT_REJECT)
            fail_msg("%s is taken for a secret", no[i]);
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++)
        if (detect__placeholder(ts_bytes_of_cstring(yes[i])) != DETECT_KEEP)
            fail_msg("%s is taken for a reference", yes[i]);
}

/* A value that looks made up may be in use nevertheless, so it is not rejected. */
static void made_up_values_are_lowered(void **state) {
    (void)state;
    assert_int_equal(detect__placeholder(TS_BYTES("Q7wFakeX2vK9z")), DETECT_LOWER);
    assert_int_equal(detect__placeholder(TS_BYTES("Q7wX2vK9z...")), DETECT_LOWER);
    assert_int_equal(detect__placeholder(TS_BYTES("Q7wX2...vK9zP")), DETECT_LOWER);
    assert_int_equal(detect__placeholder(TS_BYTES("1Q45wxxxx12345")), DETECT_LOWER);
    assert_int_equal(detect__placeholder(TS_BYTES("d41d8cd98f00b204e9800998ecf8427e")), DETECT_LOWER);
    /* The values decode to "example-app-secret", and to a text that is not a placeholder. */
    assert_int_equal(detect__placeholder(TS_BYTES("ZXhhbXBsZS1hcHAtc2VjcmV0")), DETECT_LOWER);
    assert_int_equal(detect__placeholder(TS_BYTES("a2VzdHJlbC1ncmFuaXRlLTc3")), DETECT_KEEP);
    assert_int_equal(detect__placeholder(TS_BYTES("JBSWY3DPEHPK3PXP")), DETECT_LOWER);
    assert_int_equal(detect__placeholder(TS_BYTES("--account=Q7wX2vK9z")), DETECT_REJECT);
    assert_int_equal(detect__placeholder(TS_BYTES("{% for x in y %}q7{% endfor %}")), DETECT_REJECT);
    assert_int_equal(detect__placeholder(TS_BYTES("Q7w123456X2vK9zQ")), DETECT_LOWER);
    assert_int_equal(detect__placeholder(TS_BYTES("$2b$12$Q7wX2vK9zQ7wX2vK9z")), DETECT_REJECT);
    assert_int_equal(detect__placeholder(TS_BYTES("a$(k!Q7w)X2vK9z")), DETECT_KEEP);
    assert_int_equal(detect__placeholder(TS_BYTES("a-$(cat k2.txt)")), DETECT_REJECT);
    assert_int_equal(detect__placeholder(TS_BYTES("read_key2(x1)")), DETECT_REJECT);
    assert_int_equal(detect__placeholder(TS_BYTES("%DB_PASSWORD_2%")), DETECT_REJECT);
    assert_int_equal(detect__placeholder(TS_BYTES("%k&b8o7qn0ga2^32yeer@xjo%")), DETECT_KEEP);
}

/* ASP.NET Core Identity stores hashes of passwords in base64: the format, three numbers, a salt of 16 bytes
 * and a key of 32 bytes. */
static void hashes_of_identity_are_no_passwords(void **state) {
    (void)state;
    static const char hash[] = "AQAAAAIAAYagAAAAE"
                               "Fake7Turnstone2Only9A4Test6Key8Zq3Wv1Fake7Turnstone2Only9A4Test6K"
                               "==";
    static const char long_salt[] = "AQAAAAIAAYagAAAAI"
                                    "Fake7Turnstone2Only9A4Test6Key8Zq3Wv1Fake7Turnstone2Only9A4Test6K"
                                    "==";
    assert_int_equal(detect__placeholder(ts_bytes_of_cstring(hash)), DETECT_REJECT);
    assert_int_equal(verdict(TS_VALIDATOR_PASSWORD_HASH, hash), DETECT_KEEP);
    assert_int_equal(detect__placeholder(ts_bytes_of_cstring(long_salt)), DETECT_LOWER);
}

static void disguised_words_are_recognised(void **state) {
    (void)state;
    static const char *const words[] = {"s3cr3t!",    "T0pS3cr3t", "T0PS3cr3T!",
                                        "passw0rd",   "P@$$w0rd1", "p4ssw0rd;updated",
                                        "not-re%40l", "pass?word", "s3krit"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        assert_true(detect__is_disguised_word(ts_bytes_of_cstring(words[i])));
    static const char *const others[] = {"Kestrel#4417x", "hunter2", "s3cr3tSauce9", "", "%4", "db2admin"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_false(detect__is_disguised_word(ts_bytes_of_cstring(others[i])));
}

/* A run of nine or more consecutive characters that is at least half of the text makes a value weak. A weak
 * value may still be in use, so its confidence is only lowered. */
static void a_sequence_counts_when_it_is_long_and_half_of_it(void **state) {
    (void)state;
    assert_int_equal(detect__placeholder(TS_BYTES("0123456789abcdef01")), DETECT_LOWER);
    assert_int_equal(detect__placeholder(TS_BYTES("abcdefghijklmnop")), DETECT_LOWER);
    assert_int_equal(detect__placeholder(TS_BYTES("klmnopqrsQ7wX2vK9z")), DETECT_LOWER);
    assert_int_equal(detect__placeholder(TS_BYTES("klmnopqrsQ7wX2vK9zP")), DETECT_KEEP);
    assert_int_equal(detect__placeholder(TS_BYTES("Q7wX2vK967890123")), DETECT_KEEP);
    assert_int_equal(detect__placeholder(TS_BYTES("Q7wX2vK967890123456")), DETECT_LOWER);
    assert_int_equal(detect__placeholder(TS_BYTES("klmnopqrQ7wX")), DETECT_KEEP);
    assert_int_equal(detect__placeholder(TS_BYTES("klmnopqrsQ7w")), DETECT_LOWER);
}

/* A value is made up if it has at least sixteen characters, and more than half of them are successors of the
 * character before. */
static void a_stepped_value_is_made_up(void **state) {
    (void)state;
    assert_int_equal(detect__placeholder(TS_BYTES("tok_aBc123DeF456Ghi789Jkl012")), DETECT_LOWER);
    assert_int_equal(detect__placeholder(TS_BYTES("aBc456DeF789Ghi2")), DETECT_LOWER);
    assert_int_equal(detect__placeholder(TS_BYTES("aBc456DeF789Gh2")), DETECT_KEEP);
    assert_int_equal(detect__placeholder(TS_BYTES("aBc456QxF7wKGhi2")), DETECT_KEEP);
}

static void keys_of_documents_are_made_up(void **state) {
    (void)state;
    assert_int_equal(detect__placeholder(TS_BYTES("ad180jjd733klru7")), DETECT_LOWER);
    assert_int_equal(detect__placeholder(TS_BYTES("sk_test_4eC39HqL"
                                                  "yjWDarjtT1zdp7dc")),
                     DETECT_LOWER);
    assert_int_equal(detect__placeholder(TS_BYTES("ac0974bec39a17e36ba4a6b4d238ff94"
                                                  "4bacb478cbed5efcae784d7bf4f2ff80")),
                     DETECT_LOWER);
}

static void entropy_is_bits_per_character(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double bits;
    } cases[] = {{"aaaa", 0}, {"abab", 1}, {"abcd", 2}, {"aab", 0.918295}, {"abcdefghijklmnop", 4}, {"", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double found = detect__entropy(ts_bytes_of_cstring(cases[i].text));
        if (found < cases[i].bits - 1e-4 || found > cases[i].bits + 1e-4)
            fail_msg("%s has %f", cases[i].text, found);
    }
}

static void every_validator_has_a_name_that_finds_it(void **state) {
    (void)state;
#define CHECK(suffix, text)                                                                                  \
    {                                                                                                        \
        enum ts_validator found;                                                                             \
        assert_true(ts_validator_parse(ts_bytes_of_cstring(text), &found));                                  \
        assert_int_equal(found, TS_VALIDATOR_##suffix);                                                      \
        assert_string_equal(ts_validator_name(found), text);                                                 \
        assert_int_equal(detect__validate(found, (struct ts_bytes){0}, (struct ts_bytes){0}),                \
                         DETECT_REJECT);                                                                     \
    }
    TS_VALIDATORS(CHECK)
#undef CHECK
    enum ts_validator none;
    assert_false(ts_validator_parse(TS_BYTES("nothing"), &none));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_checksum_decides_about_github_tokens),
        cmocka_unit_test(key_ids_of_aws_are_base_32),
        cmocka_unit_test(a_jwt_has_an_algorithm_and_claims),
        cmocka_unit_test(a_pem_body_is_der_of_its_length_or_openssh),
        cmocka_unit_test(a_pem_body_ends_before_the_dashes),
        cmocka_unit_test(an_age_key_has_a_checksum),
        cmocka_unit_test(a_nats_seed_has_a_checksum),
        cmocka_unit_test(structure_is_looked_at),
        cmocka_unit_test(values_of_credential_files_need_no_shape),
        cmocka_unit_test(passwords_are_no_words_and_no_code),
        cmocka_unit_test(a_checksum_is_no_token_of_all_letters),
        cmocka_unit_test(names_of_programs_are_distinguished_from_passwords),
        cmocka_unit_test(logins_in_base64_are_judged_by_what_they_say),
        cmocka_unit_test(disguised_words_are_recognised),
        cmocka_unit_test(placeholders_are_no_secrets),
        cmocka_unit_test(references_are_names_or_expressions),
        cmocka_unit_test(made_up_values_are_lowered),
        cmocka_unit_test(hashes_of_identity_are_no_passwords),
        cmocka_unit_test(a_sequence_counts_when_it_is_long_and_half_of_it),
        cmocka_unit_test(a_stepped_value_is_made_up),
        cmocka_unit_test(keys_of_documents_are_made_up),
        cmocka_unit_test(entropy_is_bits_per_character),
        cmocka_unit_test(every_validator_has_a_name_that_finds_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
