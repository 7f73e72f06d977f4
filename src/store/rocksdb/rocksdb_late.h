/* RocksDB, loaded when the first of its stores is opened: see os/late_library.h. */
#ifndef TS_STORE_ROCKSDB_ROCKSDB_LATE_H
#define TS_STORE_ROCKSDB_ROCKSDB_LATE_H

#include "store/contract/library.h"

#include <rocksdb/c.h>

#define STORE_ROCKSDB_FUNCTIONS(X)                                                                           \
    X(rocksdb_block_based_options_create)                                                                    \
    X(rocksdb_block_based_options_destroy)                                                                   \
    X(rocksdb_block_based_options_set_block_cache)                                                           \
    X(rocksdb_block_based_options_set_filter_policy)                                                         \
    X(rocksdb_cache_create_lru)                                                                              \
    X(rocksdb_cache_destroy)                                                                                 \
    X(rocksdb_close)                                                                                         \
    X(rocksdb_create_iterator)                                                                               \
    X(rocksdb_create_snapshot)                                                                               \
    X(rocksdb_filterpolicy_create_bloom_full)                                                                \
    X(rocksdb_flush_wal)                                                                                     \
    X(rocksdb_free)                                                                                          \
    X(rocksdb_get_pinned)                                                                                    \
    X(rocksdb_iter_destroy)                                                                                  \
    X(rocksdb_iter_get_error)                                                                                \
    X(rocksdb_iter_key)                                                                                      \
    X(rocksdb_iter_next)                                                                                     \
    X(rocksdb_iter_seek)                                                                                     \
    X(rocksdb_iter_seek_to_first)                                                                            \
    X(rocksdb_iter_valid)                                                                                    \
    X(rocksdb_iter_value)                                                                                    \
    X(rocksdb_open)                                                                                          \
    X(rocksdb_options_create)                                                                                \
    X(rocksdb_options_destroy)                                                                               \
    X(rocksdb_options_set_allow_concurrent_memtable_write)                                                   \
    X(rocksdb_options_set_block_based_table_factory)                                                         \
    X(rocksdb_options_set_create_if_missing)                                                                 \
    X(rocksdb_options_set_enable_blob_files)                                                                 \
    X(rocksdb_options_set_enable_blob_gc)                                                                    \
    X(rocksdb_options_set_info_log_level)                                                                    \
    X(rocksdb_options_set_keep_log_file_num)                                                                 \
    X(rocksdb_options_set_max_background_jobs)                                                               \
    X(rocksdb_options_set_max_log_file_size)                                                                 \
    X(rocksdb_options_set_max_open_files)                                                                    \
    X(rocksdb_options_set_max_total_wal_size)                                                                \
    X(rocksdb_options_set_max_write_buffer_number)                                                           \
    X(rocksdb_options_set_min_blob_size)                                                                     \
    X(rocksdb_options_set_paranoid_checks)                                                                   \
    X(rocksdb_options_set_wal_recovery_mode)                                                                 \
    X(rocksdb_options_set_write_buffer_size)                                                                 \
    X(rocksdb_pinnableslice_destroy)                                                                         \
    X(rocksdb_pinnableslice_value)                                                                           \
    X(rocksdb_readoptions_create)                                                                            \
    X(rocksdb_readoptions_destroy)                                                                           \
    X(rocksdb_readoptions_set_iterate_upper_bound)                                                           \
    X(rocksdb_readoptions_set_snapshot)                                                                      \
    X(rocksdb_release_snapshot)                                                                              \
    X(rocksdb_write)                                                                                         \
    X(rocksdb_writebatch_create)                                                                             \
    X(rocksdb_writebatch_deletev)                                                                            \
    X(rocksdb_writebatch_destroy)                                                                            \
    X(rocksdb_writebatch_putv)                                                                               \
    X(rocksdb_writeoptions_create)                                                                           \
    X(rocksdb_writeoptions_destroy)                                                                          \
    X(rocksdb_writeoptions_set_no_slowdown)                                                                  \
    X(rocksdb_writeoptions_set_sync)

struct store__rocksdb {
    STORE_ROCKSDB_FUNCTIONS(TS_LATE_MEMBER)
};

extern struct store__rocksdb store__rocksdb;
extern struct ts_late_library store__rocksdb_library;

#define rocksdb_block_based_options_create          store__rocksdb.rocksdb_block_based_options_create
#define rocksdb_block_based_options_destroy         store__rocksdb.rocksdb_block_based_options_destroy
#define rocksdb_block_based_options_set_block_cache store__rocksdb.rocksdb_block_based_options_set_block_cache
#define rocksdb_block_based_options_set_filter_policy                                                        \
    store__rocksdb.rocksdb_block_based_options_set_filter_policy
#define rocksdb_cache_create_lru               store__rocksdb.rocksdb_cache_create_lru
#define rocksdb_cache_destroy                  store__rocksdb.rocksdb_cache_destroy
#define rocksdb_close                          store__rocksdb.rocksdb_close
#define rocksdb_create_iterator                store__rocksdb.rocksdb_create_iterator
#define rocksdb_create_snapshot                store__rocksdb.rocksdb_create_snapshot
#define rocksdb_filterpolicy_create_bloom_full store__rocksdb.rocksdb_filterpolicy_create_bloom_full
#define rocksdb_flush_wal                      store__rocksdb.rocksdb_flush_wal
#define rocksdb_free                           store__rocksdb.rocksdb_free
#define rocksdb_get_pinned                     store__rocksdb.rocksdb_get_pinned
#define rocksdb_iter_destroy                   store__rocksdb.rocksdb_iter_destroy
#define rocksdb_iter_get_error                 store__rocksdb.rocksdb_iter_get_error
#define rocksdb_iter_key                       store__rocksdb.rocksdb_iter_key
#define rocksdb_iter_next                      store__rocksdb.rocksdb_iter_next
#define rocksdb_iter_seek                      store__rocksdb.rocksdb_iter_seek
#define rocksdb_iter_seek_to_first             store__rocksdb.rocksdb_iter_seek_to_first
#define rocksdb_iter_valid                     store__rocksdb.rocksdb_iter_valid
#define rocksdb_iter_value                     store__rocksdb.rocksdb_iter_value
#define rocksdb_open                           store__rocksdb.rocksdb_open
#define rocksdb_options_create                 store__rocksdb.rocksdb_options_create
#define rocksdb_options_destroy                store__rocksdb.rocksdb_options_destroy
#define rocksdb_options_set_allow_concurrent_memtable_write                                                  \
    store__rocksdb.rocksdb_options_set_allow_concurrent_memtable_write
#define rocksdb_options_set_block_based_table_factory                                                        \
    store__rocksdb.rocksdb_options_set_block_based_table_factory
#define rocksdb_options_set_create_if_missing       store__rocksdb.rocksdb_options_set_create_if_missing
#define rocksdb_options_set_enable_blob_files       store__rocksdb.rocksdb_options_set_enable_blob_files
#define rocksdb_options_set_enable_blob_gc          store__rocksdb.rocksdb_options_set_enable_blob_gc
#define rocksdb_options_set_info_log_level          store__rocksdb.rocksdb_options_set_info_log_level
#define rocksdb_options_set_keep_log_file_num       store__rocksdb.rocksdb_options_set_keep_log_file_num
#define rocksdb_options_set_max_background_jobs     store__rocksdb.rocksdb_options_set_max_background_jobs
#define rocksdb_options_set_max_log_file_size       store__rocksdb.rocksdb_options_set_max_log_file_size
#define rocksdb_options_set_max_open_files          store__rocksdb.rocksdb_options_set_max_open_files
#define rocksdb_options_set_max_total_wal_size      store__rocksdb.rocksdb_options_set_max_total_wal_size
#define rocksdb_options_set_max_write_buffer_number store__rocksdb.rocksdb_options_set_max_write_buffer_number
#define rocksdb_options_set_min_blob_size           store__rocksdb.rocksdb_options_set_min_blob_size
#define rocksdb_options_set_paranoid_checks         store__rocksdb.rocksdb_options_set_paranoid_checks
#define rocksdb_options_set_wal_recovery_mode       store__rocksdb.rocksdb_options_set_wal_recovery_mode
#define rocksdb_options_set_write_buffer_size       store__rocksdb.rocksdb_options_set_write_buffer_size
#define rocksdb_pinnableslice_destroy               store__rocksdb.rocksdb_pinnableslice_destroy
#define rocksdb_pinnableslice_value                 store__rocksdb.rocksdb_pinnableslice_value
#define rocksdb_readoptions_create                  store__rocksdb.rocksdb_readoptions_create
#define rocksdb_readoptions_destroy                 store__rocksdb.rocksdb_readoptions_destroy
#define rocksdb_readoptions_set_iterate_upper_bound store__rocksdb.rocksdb_readoptions_set_iterate_upper_bound
#define rocksdb_readoptions_set_snapshot            store__rocksdb.rocksdb_readoptions_set_snapshot
#define rocksdb_release_snapshot                    store__rocksdb.rocksdb_release_snapshot
#define rocksdb_write                               store__rocksdb.rocksdb_write
#define rocksdb_writebatch_create                   store__rocksdb.rocksdb_writebatch_create
#define rocksdb_writebatch_deletev                  store__rocksdb.rocksdb_writebatch_deletev
#define rocksdb_writebatch_destroy                  store__rocksdb.rocksdb_writebatch_destroy
#define rocksdb_writebatch_putv                     store__rocksdb.rocksdb_writebatch_putv
#define rocksdb_writeoptions_create                 store__rocksdb.rocksdb_writeoptions_create
#define rocksdb_writeoptions_destroy                store__rocksdb.rocksdb_writeoptions_destroy
#define rocksdb_writeoptions_set_no_slowdown        store__rocksdb.rocksdb_writeoptions_set_no_slowdown
#define rocksdb_writeoptions_set_sync               store__rocksdb.rocksdb_writeoptions_set_sync

#endif
