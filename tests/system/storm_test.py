#!/usr/bin/env python3
"""storm_test.py PROGRAM: a fleet in a storm (tests/support/python/storm.py), then one quiet run. Afterwards the stores have
the same results as the stores of an undisturbed fleet.

TURNSTONE_STORM_SECONDS (90), TURNSTONE_STORM_SEED (1), TURNSTONE_STORM_REPOSITORIES (60) and TURNSTONE_STORM_PLANT (a rule of
src/runtime/core/plant.h that workers break) are for `make soak-fleet`."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from storm import Storm  # noqa: E402
from storm_check import check  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

SECONDS = int(os.environ.get("TURNSTONE_STORM_SECONDS", "90"))
SEED = os.environ.get("TURNSTONE_STORM_SEED", "1")
REPOSITORIES = int(os.environ.get("TURNSTONE_STORM_REPOSITORIES", "60"))
PLANT = os.environ.get("TURNSTONE_STORM_PLANT")


@test
def after_a_storm_a_quiet_run_has_everything_exactly_once():
    storm = Storm(SEED, REPOSITORIES, plant=PLANT)
    try:
        storm.blow(SECONDS)
        storm.calm()
        equal(storm.unexpected, [], "workers that ended by themselves")
        counts = storm.counts
        holds(counts["kills"] >= SECONDS and all(counts[one] > 0 for one in ("pauses", "restarts", "damages", "pushes", "forced", "runs")), counts)
        holds(counts["full_disks"] == 0 or "disk_full" in storm.full_disk_reasons(), storm.full_disk_reasons())
        check(storm)
    finally:
        storm.close()


if __name__ == "__main__":
    main()
