#!/usr/bin/env python3
"""make demo: every secret that it plants is found."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from program import PROGRAM  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "demo-scan")


@test
def all_planted_secrets_are_found_and_shown():
    done = subprocess.run([TOOL, PROGRAM], capture_output=True, text=True, check=False)
    equal((done.returncode, done.stderr), (0, ""), done.stdout)
    holds("6 of 6 planted secrets found" in done.stdout and "MISSING" not in done.stdout, done.stdout)
    for part in ("deploy/id_rsa:1:1", "in base64", "tag v1.0", "commit message", "src/cart.py:1:10", "9 blobs known from earlier scans"):
        holds(part in done.stdout, (part, done.stdout))


@test
def a_secret_that_is_not_found_would_be_noticed():
    with open("blind", "w") as file:
        file.write(f"#!/bin/sh\nexec '{PROGRAM}' \"$@\" --branch main\n")
    os.chmod("blind", 0o755)
    done = subprocess.run([TOOL, os.path.abspath("blind")], capture_output=True, text=True, check=False)
    equal(done.returncode, 1)
    holds("MISSING  in the message of a tag" in done.stdout, done.stdout)


if __name__ == "__main__":
    main()
