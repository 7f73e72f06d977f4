/* route ID...: prints which of 16 stores holds each id. */
#include <stdio.h>
#include <stdlib.h>
#include <turnstone/route.h>

int main(int argc, char **argv) {
    struct ts_router router;
    struct ts_router_error_detail detail;
    if (ts_router_init_hash(TS_ROUTER_STRATEGY_XXH64, 16, &router, &detail) != TS_ROUTER_OK) {
        char why[200];
        ts_router_error_describe(&detail, why, sizeof why);
        fprintf(stderr, "route: %s\n", why);
        return 2;
    }
    for (int i = 1; i < argc; i++) {
        uint64_t id = strtoull(argv[i], NULL, 10);
        printf("%llu is in store %u\n", (unsigned long long)id, ts_router_route(&router, id).v);
    }
    return 0;
}
