/*
 * Detects one store under two names. Different texts may mean the same directory, because of a symbolic link,
 * another path, or a superfluous "./". This must be known before the second one is opened, because that would
 * wait for the first one.
 */
#ifndef TS_STORE_CLUSTER_SAME_H
#define TS_STORE_CLUSTER_SAME_H

#include "store/contract/url.h"

/* Returns OK, or BAD_USAGE with the places of two list entries that are the same directory, whether it exists
 * yet or not. */
enum ts_store_result store__same_directories(const struct store_url_list *list,
                                             struct ts_store_error *ret_error);

/* BAD_USAGE: the stores at these two places are the same. */
struct store__twice {
    size_t first, second;
    const char *first_name, *second_name;
};
enum ts_store_result store__same_error(const struct store__twice *twice, struct ts_store_error *ret_error);

#endif
