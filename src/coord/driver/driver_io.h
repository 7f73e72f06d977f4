/* The driver's io functions over a real cluster and a coordinator. */
#ifndef TS_COORD_DRIVER_DRIVER_IO_H
#define TS_COORD_DRIVER_DRIVER_IO_H

#include "coord/driver/io.h"
#include "txn/driver/stop.h"

struct coord__cluster_io {
    struct ts_cluster *cluster;
    struct ts_coordinator *coordinator;
    uint64_t call_timeout_us; /* timeout of one read */
    bool is_clock_frozen;
    struct ts_txn_stop stop;
};

/* Returns the io functions. The result borrows `own`, which must stay in place. */
struct ts_coord_io coord__io_over_cluster(struct coord__cluster_io *own);

#endif
