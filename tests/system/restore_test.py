#!/usr/bin/env python3
"""restore_test.py PROGRAM: a fleet continues from a backup of its stores, as docs/operating.md describes it."""
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from fleet import Fleet, finish, places, repositories, scanned  # noqa: E402
from pg import Server, client  # noqa: E402
from repo import Repo, github_token  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402


def existing(urls):
    """Returns a fleet on stores that are already initialised."""
    fleet = Fleet.__new__(Fleet)
    fleet.urls = urls
    return fleet


def half_way(fleet):
    """Makes the state of the backup: run 1 is done, and a decision about a finding is stored. A repository
    has a new secret, and run 2 has not begun. Returns the paths of the repositories, and the id of that
    finding."""
    paths = repositories("repos", 4)
    fleet.submit(1, "repos")
    finish(fleet, 1, paths)
    first = json.loads(fleet.ok("findings", "list", "--confidence", "low", "--json", "--limit", "1").splitlines()[0])["id"]
    fleet.ok("findings", "triage", first, "--state", "revoked", "--reason", "rotated", "--by", "ada")
    repo = Repo.at(paths[0])
    repo.write("late.env", f"TOKEN={github_token('late')}\n")
    repo.commit("late")
    fleet.submit(2, "repos")
    return paths, first


def everything(fleet):
    return places(json.loads(fleet.ok("findings", "export", "--format", "json", "--confidence", "low", "--state", "all")))


def after_the_backup(fleet, paths):
    """Makes changes that the backup lacks: run 2 ends, and run 3 is submitted."""
    equal(fleet.work()[0], 0)
    fleet.submit(3, "repos")
    equal(everything(fleet), scanned(paths))


def continues(fleet, paths, decided):
    equal(fleet.run("store", "recover", "--accept-copy").status, 0)
    shown = fleet.show(2)
    equal((shown["status"], shown["active"]), ("Active", 4), shown)
    for number in (1, 2):
        equal(json.loads(fleet.ok("run", "audit", "--run", str(number), "--json"))["clean"], True)
    equal(fleet.work()[0], 0)
    equal(fleet.show(2)["done"], 4)
    equal(everything(fleet), scanned(paths))
    states = [json.loads(line) for line in fleet.ok("findings", "list", "--state", "revoked", "--confidence", "low", "--json").splitlines()]
    equal([one["id"] for one in states if "id" in one], [decided])
    fleet.submit(3, "repos")
    equal(fleet.work()[0], 0)
    equal(json.loads(fleet.ok("run", "audit", "--run", "3", "--json"))["clean"], True)
    fleet.is_clean()


@test
def a_fleet_continues_from_dumps_of_its_databases():
    with Server(max_prepared_transactions=20, fsync=False) as old, Server(max_prepared_transactions=20, fsync=False) as new:
        old.create("a", "b")
        fleet = Fleet(f"{old.url('a')},{old.url('b')}")
        paths, decided = half_way(fleet)
        dumps = {name: client("pg_dump", old, "--format=custom", name) for name in ("a", "b")}
        after_the_backup(fleet, paths)
        old.kill()
        new.create("a", "b")
        for name, dump in dumps.items():
            client("pg_restore", new, "--exit-on-error", "--dbname", name, stdin=dump)
        continues(existing(f"{new.url('a')},{new.url('b')}"), paths, decided)


@test
def a_fleet_continues_from_copies_of_its_folders():
    fleet = Fleet(f"rocksdb:{os.getcwd()}/a,rocksdb:{os.getcwd()}/b")
    paths, decided = half_way(fleet)
    for name in "ab":
        shutil.copytree(name, f"backup/{name}")
    after_the_backup(fleet, paths)
    for name in "ab":
        shutil.rmtree(name)
        shutil.copytree(f"backup/{name}", name)
    refused = fleet.run("run", "show", "--run", "1")
    holds(refused.status != 0 and "--accept-copy" in refused.err, refused)
    continues(fleet, paths, decided)


if __name__ == "__main__":
    main()
