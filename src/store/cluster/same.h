/*
 * Stores that are named in two ways. Texts that differ may mean one directory: by a symbolic link, another
 * way to it, or a spare "./". That must be known before the second is opened, which would wait for the first.
 */
#ifndef TS_STORE_CLUSTER_SAME_H
#define TS_STORE_CLUSTER_SAME_H

#include "store/contract/url.h"

/* OK, or BAD_USAGE with the places of two directories of the list that are one; whether they are there yet is
 * no matter. */
enum ts_store_result store__same_directories(const struct store_url_list *list,
                                             struct ts_store_error *ret_error);

/* BAD_USAGE: the stores at two places are one. */
struct store__twice {
    size_t first, second;
    const char *first_name, *second_name;
};
enum ts_store_result store__same_error(const struct store__twice *twice, struct ts_store_error *ret_error);

#endif
