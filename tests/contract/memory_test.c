#include "contract.h"

#include "store/local/memory.h"

static void *set_up(void) {
    struct ts_memory *memory = ts_memory_new("memory:", NULL);
    assert_non_null(memory);
    return memory;
}

static void tear_down(void *place) {
    ts_memory_free(place);
}

/* Opens a store after a simulated restart, which restores locks and promises from the records. */
static struct ts_store *open_again(void *place) {
    ts_memory_restart(place, (struct ts_memory_crash){.lose_unsynced = false});
    struct ts_store *store = ts_memory_open(place);
    assert_non_null(store);
    return store;
}

static const struct contract_fixture fixture = {
    .name = "memory", .set_up = set_up, .tear_down = tear_down, .open = open_again};

int main(int argc, char **argv) {
    return contract_main(argc, argv, &fixture);
}
