/* Compiled databases on disk. set_cache.c has the layout. */
#ifndef TS_DETECT_SET_CACHE_H
#define TS_DETECT_SET_CACHE_H

#include "compiled.h"

struct detect_cache_place {
    char folder[3072];
    char path[4096];
    uint8_t key[32];
};

/* Sets *ret_place to the cache file for this detector. Returns false when there is no cache folder. */
bool detect__cache_place(const struct ts_detector *detector, const char *folder,
                         struct detect_cache_place *ret_place);

enum detect_cache_read { DETECT_CACHE_READ, DETECT_CACHE_ABSENT, DETECT_CACHE_DAMAGED };

/* Sets detector->databases and detector->gate_width from the file. */
enum detect_cache_read detect__cache_read(struct ts_detector *detector,
                                          const struct detect_cache_place *place);

/* Writes the databases. A failure is ignored: only the next start takes longer. */
void detect__cache_write(const struct ts_detector *detector, const struct detect_cache_place *place);

#endif
