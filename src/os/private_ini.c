#include "os/private_ini.h"

#include "os/grow.h"

#include <stdlib.h>
#include <string.h>

static bool has_name(const struct ts_private_names *names, const char *name) {
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->list[i], name) == 0)
            return true;
    return false;
}

static bool add_name(struct ts_private_names *names, const char *name, struct ts_private_error *ret_error) {
    if (!TS_GROW(names->list, names->capacity, names->count + 1))
        return ts_private_refuse(ret_error, "cannot be read: out of memory");
    names->list[names->count++] = name;
    return true;
}

static bool read_section(struct ts_private_ini *ini, char *text, struct ts_private_ini_item *ret_item,
                         struct ts_private_error *ret_error) {
    const struct ts_private_ini_words *words = ini->words;
    const unsigned line = ini->file->line;
    const size_t len = strlen(text);
    if (len < 3 || text[len - 1] != ']')
        return ts_private_refuse(ret_error, "line %u: %s", line, words->form);
    text[len - 1] = '\0';
    if (has_name(&ini->sections, text + 1))
        return ts_private_refuse(ret_error,
                                 "line %u: the %s occurs twice; write all its settings below one [%s]", line,
                                 words->section, words->section);
    if (!add_name(&ini->sections, text + 1, ret_error))
        return false;
    ini->keys.count = 0;
    *ret_item = (struct ts_private_ini_item){.name = text + 1, .line = line};
    return true;
}

static bool read_setting(struct ts_private_ini *ini, char *text, struct ts_private_ini_item *ret_item,
                         struct ts_private_error *ret_error) {
    const struct ts_private_ini_words *words = ini->words;
    const unsigned line = ini->file->line;
    char *equals = strchr(text, '=');
    if (ini->sections.count == 0)
        return ts_private_refuse(ret_error, "line %u: a %s in brackets must come first", line,
                                 words->section);
    if (equals == NULL || equals == text)
        return ts_private_refuse(ret_error, "line %u: a setting is written as KEY = VALUE", line);
    *equals = '\0';
    const char *key = ts_private_trim(text);
    const char *value = ts_private_trim(equals + 1);
    if (has_name(&ini->keys, key))
        return ts_private_refuse(ret_error, "line %u: the key occurs twice for this %s; remove one of them",
                                 line, words->section);
    if (*value == '\0')
        return ts_private_refuse(ret_error, "line %u: the value is empty; write one, or remove the line",
                                 line);
    if (!add_name(&ini->keys, key, ret_error))
        return false;
    *ret_item = (struct ts_private_ini_item){.name = key, .value = value, .line = line};
    return true;
}

enum ts_private_ini_result ts_private_ini_next(struct ts_private_ini *ini,
                                               struct ts_private_ini_item *ret_item,
                                               struct ts_private_error *ret_error) {
    char *text = ts_private_file_line(ini->file);
    if (text == NULL)
        return TS_PRIVATE_INI_END;
    if (*text == '[')
        return read_section(ini, text, ret_item, ret_error) ? TS_PRIVATE_INI_SECTION : TS_PRIVATE_INI_WRONG;
    return read_setting(ini, text, ret_item, ret_error) ? TS_PRIVATE_INI_SETTING : TS_PRIVATE_INI_WRONG;
}

void ts_private_ini_release(struct ts_private_ini *ini) {
    free(ini->sections.list);
    free(ini->keys.list);
    *ini = (struct ts_private_ini){0};
}
