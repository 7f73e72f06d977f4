#include "os/build_id.h"

#include <link.h>
#include <string.h>

#define ALIGNED(size) (((size_t)(size) + 3) & ~(size_t)3)

/* Finds the build id in notes. A note consists of a head, a name and a description, each padded to a multiple
 * of four bytes. */
static struct ts_bytes find_in(struct ts_bytes notes) {
    ElfW(Nhdr) head;
    while (notes.len >= sizeof head) {
        memcpy(&head, notes.data, sizeof head);
        notes = ts_bytes_skip(notes, sizeof head);
        size_t name_len = ALIGNED(head.n_namesz);
        size_t len = ALIGNED(head.n_descsz);
        if (name_len > notes.len || len > notes.len - name_len)
            break;
        if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == sizeof "GNU" &&
            memcmp(notes.data, "GNU", sizeof "GNU") == 0)
            return ts_bytes_of(notes.data + name_len, head.n_descsz);
        notes = ts_bytes_skip(notes, name_len + len);
    }
    return (struct ts_bytes){NULL, 0};
}

static bool holds_this_code(const struct dl_phdr_info *info) {
    uintptr_t here = (uintptr_t)&ts_build_id;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && here - (info->dlpi_addr + part->p_vaddr) < part->p_memsz)
            return true;
    }
    return false;
}

/* Searches the program or shared library that contains this code, because the results depend on this code. */
static int look_at(struct dl_phdr_info *info, size_t size, void *context) {
    struct ts_bytes *found = context;
    (void)size;
    if (!holds_this_code(info))
        return 0;
    for (size_t i = 0; i < info->dlpi_phnum && found->len == 0; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_NOTE)
            *found =
                find_in(ts_bytes_of((const void *)(info->dlpi_addr + part->p_vaddr), (size_t)part->p_memsz));
    }
    return 1;
}

struct ts_bytes ts_build_id(void) {
    struct ts_bytes found = {NULL, 0};
    (void)dl_iterate_phdr(look_at, &found);
    return found;
}
