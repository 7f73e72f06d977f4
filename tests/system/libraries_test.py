#!/usr/bin/env python3
"""The program loads the library of a kind of stores only if a run opens such a store. All other runs work
without it."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from program import complains, run  # noqa: E402
from repo import Repo  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

ROCKSDB, LIBPQ = "librocksdb", "libpq"
NO_SERVER = "postgresql://u:hunter2@127.0.0.1:1/d?connect_timeout=1"


def asked_for(*arguments, **options):
    """Runs the program. Returns the sonames of RocksDB and libpq that the dynamic loader searches for in this
    run."""
    result = run(*arguments, env={"LD_DEBUG": "libs"}, **options)
    looked_for = re.findall(r"find library=(\S+)", result.err)
    holds("libc.so.6" in looked_for, "the loader tells what it looks for")
    return {name for name in looked_for if name.split(".")[0] in (ROCKSDB, LIBPQ)}


def sonames():
    (rocksdb,) = asked_for("store", "init", "--cluster", "rocksdb:known")
    (libpq,) = asked_for("store", "init", "--cluster", NO_SERVER)
    equal((rocksdb.split(".")[0], libpq.split(".")[0]), (ROCKSDB, LIBPQ))
    return rocksdb, libpq


def put_broken_ones_first():
    """Returns environment variables with which the loader finds files with the names of both libraries, but
    cannot load them."""
    os.mkdir("broken")
    for name in sonames():
        with open(os.path.join("broken", name), "w") as file:
            file.write("This is no library.\n" * 100)
    return {"LD_LIBRARY_PATH": os.path.abspath("broken")}


@test
def a_run_that_opens_no_store_loads_neither():
    repo = Repo("r")
    repo.write("a.txt", "nothing\n")
    repo.commit()
    for words in (["--version"], ["help"], ["rules", "list"], ["route", "--stores", "4", "7"],
                  ["scan", "--no-state", "-"], ["scan", "--no-state", "r"], ["scan", "--state", "kept", "r"], ["sim", "--steps", "100"]):
        equal(asked_for(*words), set(), words)
    equal(asked_for("protect", cwd="r"), set(), "a hook of every commit")


@test
def a_store_loads_its_own_library_alone():
    rocksdb, libpq = sonames()
    equal(asked_for("store", "status", "--cluster", "rocksdb:alone"), {rocksdb})
    equal(asked_for("store", "status", "--cluster", f"rocksdb:known,{NO_SERVER}"), {rocksdb, libpq})


@test
def a_library_that_cannot_be_loaded_is_an_error_of_the_store():
    env = put_broken_ones_first()
    rocksdb, libpq = sonames()
    said = complains(6, [f"rocksdb:{os.getcwd()[:20]}", "RocksDB's library cannot be loaded (", f"{rocksdb}: ",
                         f"install the package {rocksdb.replace('.so.', '')}"],
                     "store", "init", "--cluster", f"rocksdb:{os.getcwd()}/a", env=env)
    holds("invalid ELF header" in said.err, said)
    holds(not os.path.exists("a"), "the directory was made all the same")
    said = complains(6, ["postgresql://u@127.0.0.1", "PostgreSQL's client library cannot be loaded (", f"{libpq}: ",
                         f"install the package {libpq.replace('.so.', '')}"],
                     "store", "init", "--cluster", NO_SERVER, env=env)
    holds("hunter2" not in said.err, said)


main()
