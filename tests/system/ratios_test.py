#!/usr/bin/env python3
"""tools/bench runs all its comparisons and prints the results. The ratios themselves are not tested."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from tap import equal, holds, main, test  # noqa: E402

BENCH, BUILD = sys.argv[2:4]
PARTS = {"coordinator": 2, "rocksdb": 6, "postgres": 4}


def rows(*arguments):
    done = subprocess.run([BENCH, BUILD, "--seconds", "0.2", "--rounds", "1", "--json", *arguments], capture_output=True,
                          text=True)
    equal((done.returncode, done.stderr), (0, ""))
    return json.loads(done.stdout)["rows"]


@test
def every_part_is_compared_with_its_bare_loop():
    for part, count in PARTS.items():
        found = rows("--only", part)
        equal(len(found), count, part)
        for row in found:
            holds(row["turnstone_us" if part == "coordinator" else "turnstone_per_second"] > 0, row)
            holds(row["beside_us" if part == "coordinator" else "beside_per_second"] > 0, row)


main()
