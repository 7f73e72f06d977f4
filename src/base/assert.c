#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>

void ts_assert_fail(const char *what, const char *file, int line) {
    fprintf(stderr, "turnstone: assertion failed: %s (%s:%d)\n", what, file, line);
    abort();
}
