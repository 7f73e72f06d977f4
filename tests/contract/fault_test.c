#include "decorated.h"
#include "store/decorators/fault.h"

static struct ts_store *open_without_faults(void *place) {
    struct ts_store *store = ts_fault_new(decorated_inside(place), 1);
    assert_non_null(store);
    return store;
}

static const struct contract_fixture fixture = {.name = "fault(memory)",
                                                .set_up = decorated_set_up,
                                                .tear_down = decorated_tear_down,
                                                .open = open_without_faults};

int main(int argc, char **argv) {
    return contract_main(argc, argv, &fixture);
}
