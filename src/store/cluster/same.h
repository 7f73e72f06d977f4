/*
 * Detects one store under two names. Different texts may mean the same directory, because of a symbolic link,
 * another path, or a superfluous "./". The check precedes opening, because the second open of a directory
 * would wait until the first store is closed.
 */
#ifndef TS_STORE_CLUSTER_SAME_H
#define TS_STORE_CLUSTER_SAME_H

#include "store/contract/url.h"

/* Checks whether two entries of the list name the same directory, which need not exist yet. Returns OK, or
 * BAD_USAGE with the places of the two entries. */
enum ts_store_result store__same_directories(const struct store_url_list *list,
                                             struct ts_store_error *ret_error);

/* Reports BAD_USAGE: the stores at these two places are the same store. */
struct store__twice {
    size_t first, second;
    const char *first_name, *second_name;
};
enum ts_store_result store__same_error(const struct store__twice *twice, struct ts_store_error *ret_error);

#endif
