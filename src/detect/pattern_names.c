#include "pattern_names.h"

#include <string.h>

/*
 * A token of letters, digits and _ starts at a word boundary, or directly after one of the following
 * sequences, which may end with a letter or digit but do not belong to the token: an escape in a string of a
 * program (\n, \x22, \u003d, \075), a percent escape (%22), the = of quoted-printable (=3D), or a colour
 * sequence of a terminal, with its ESC byte or another spelling of that byte. Each sequence takes at most 19
 * bytes, as docs/rules.md says.
 */
#define HEX "[0-9A-Fa-f]"
#define ESCAPE                                                                                               \
    "\\\\(?:[abefnrtv]|[0-7]{1,3}|x" HEX "{2}|u" HEX "{4}|U" HEX "{8})|%" HEX                                \
    "{2}|=3D|\\x1b\\[[0-9;]{0,16}[A-Za-z]|\\[[0-9;]{1,16}m"
static const struct {
    const char *name;
    const char *pattern;
} names[] = {
    {"start", "(?:\\b|" ESCAPE ")"},
    {"escape", "(?:" ESCAPE ")"},
    {"end", "(?:[^A-Za-z0-9_-]|$)"},
};

/* Returns the pattern that replaces the {{name}} at `at`, and sets *ret_len to the length of the name with
 * its braces. Returns NULL if the name is unknown. If there is no name at `at`, returns NULL and sets
 * *ret_len to 0. */
static const char *name_at(const char *at, size_t *ret_len) {
    *ret_len = 0;
    if (at[0] != '{' || at[1] != '{')
        return NULL;
    size_t len = strspn(at + 2, "abcdefghijklmnopqrstuvwxyz-");
    if (len == 0 || strncmp(at + 2 + len, "}}", 2) != 0)
        return NULL;
    *ret_len = len + 4;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strlen(names[i].name) == len && memcmp(names[i].name, at + 2, len) == 0)
            return names[i].pattern;
    return NULL;
}

char *detect__names_expand(const char *text, struct ts_arena *arena, struct ts_bytes *ret_unknown) {
    size_t size = 1;
    *ret_unknown = ts_bytes_of(text, 0);
    for (const char *at = text; *at;) {
        size_t len;
        const char *pattern = name_at(at, &len);
        if (len > 0 && !pattern) {
            *ret_unknown = ts_bytes_of(at, len);
            return NULL;
        }
        size += pattern ? strlen(pattern) : 1;
        at += pattern ? len : 1;
    }
    char *made = ts_arena_take(arena, size);
    if (!made)
        return NULL;
    char *to = made;
    for (const char *at = text; *at;) {
        size_t len;
        const char *pattern = name_at(at, &len);
        if (!pattern) {
            *to++ = *at++;
            continue;
        }
        while (*pattern)
            *to++ = *pattern++;
        at += len;
    }
    return made;
}

/* ---- paths ---- */

/* Files of other scanners: hashes of known secrets, and reports. */
static const char *const baselines[] = {
    ".secrets.baseline",
    "*.secrets.baseline",
    ".secrets.baseline.*",
    ".gitleaksignore",
    ".gitleaks-baseline.json",
    "gitleaks-report.json",
    "gitleaks-baseline*.json",
    "gitleaks.sarif",
    ".gitguardian.yml",
    ".gitguardian.yaml",
    ".trufflehog*",
    "trufflehog*.json",
    "detect-secrets*.json",
    ".whispers*",
    ".talismanrc",
    "*.sarif",
};

/* Files of package managers: checksums, and versions. */
static const char *const lock_files[] = {
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lock",
    "deno.lock",
    "composer.lock",
    "Gemfile.lock",
    "Cargo.lock",
    "poetry.lock",
    "uv.lock",
    "pdm.lock",
    "Pipfile.lock",
    "conda-lock.yml",
    "go.sum",
    "go.work.sum",
    "mix.lock",
    "pubspec.lock",
    "Podfile.lock",
    "Package.resolved",
    "packages.lock.json",
    "paket.lock",
    "gradle.lockfile",
    "flake.lock",
    ".terraform.lock.hcl",
};

/* Files of translations, in which "password" is a word of the user interface. */
static const char *const translations[] = {
    "locale/",
    "locales/",
    "i18n/",
    "l10n/",
    "translations/",
    "_locales/",
    "*.po",
    "*.pot",
    "*.xlf",
    "*.xliff",
    "*.arb",
    "*.resx",
    "*.lproj/",
    "langs/",
    "**/values-*/strings*.xml",
    "**/languages/*.json",
    "**/languages/*.php",
    "**/languages/*.js",
    "**/language/*/*.php",
    "[Mm]essages*.properties",
    "*Messages*.properties",
    "*Bundle*.properties",
    "LocalStrings*.properties",
    "*_[a-z][a-z].properties",
    "*_[a-z][a-z]_[A-Z][A-Z].properties",
    "**/lang/*.js",
    "**/lang/*.ts",
    "**/lang/*.json",
    "**/lang/*.php",
    "**/lang/*/*.js",
    "**/lang/*/*.ts",
    "**/lang/*/*.php",
    "**/lang/*/*.json",
};

size_t detect__path_name(const char *text, const char *const **ret_globs) {
    static const struct {
        const char *name;
        const char *const *globs;
        size_t count;
    } lists[] = {
        {"{{baselines}}", baselines, sizeof baselines / sizeof baselines[0]},
        {"{{lock-files}}", lock_files, sizeof lock_files / sizeof lock_files[0]},
        {"{{translations}}", translations, sizeof translations / sizeof translations[0]},
    };
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        if (strcmp(lists[i].name, text) != 0)
            continue;
        if (ret_globs)
            *ret_globs = lists[i].globs;
        return lists[i].count;
    }
    return 0;
}
