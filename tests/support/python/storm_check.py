"""What must hold after a storm (storm.py), and one quiet run."""
import glob
import json
import os
import subprocess
import time

from fleet import Fleet, events, places
from program import run
from storm import COMMIT_BYTES, LEASE_MS, PART_MS, PLANTED, RUNS
from tap import equal, holds


def scanned_report(paths):
    done = run("scan", "--no-repo-config", "--format", "json", "--occurrences", "all", *paths)
    holds(done.status in (0, 1), done)
    return json.loads(done.out)


def nameless(report):
    """Returns the findings by their places, with the name of the repository on the server instead of its address."""
    def name(repo):
        return os.path.basename(repo).removesuffix(".git")
    return sorted(sorted((rule, name(repo), *rest) for rule, repo, *rest in one) for one in places(report))


def exported(fleet):
    return json.loads(fleet.ok("findings", "export", "--format", "json", "--confidence", "low", "--state", "all"))


def listed(fleet):
    out = fleet.ok("findings", "list", "--confidence", "low", "--state", "all", "--json", "--limit", "10000")
    return [one for one in map(json.loads, out.splitlines()) if "id" in one]


def rows(fleet):
    """Returns the rows that belong to attempts: the kind, the target and the page of each row, sorted. Rows of an extra attempt make the
    list longer."""
    found = []
    for kind in "kowse":
        for line in fleet.ok("store", "scan", f"0x0066{ord(kind):02x}", "--json").splitlines():
            key = bytes.fromhex(json.loads(line)["key"][2:])
            if kind == "e":
                found.append((kind, key[3 + 32 + 16:3 + 32 + 32].hex(), ""))
            else:
                found.append((kind, key[3:19].hex(), key[19 + 28:].hex()))
    return sorted(found)


def work(fleet, log, mirrors, plant=None):
    worker = fleet.start("--once", "--jobs", "2", "--mirrors", mirrors, "--credentials", "credentials", "--log", log, "--no-progress",
                         "--part-ms", str(PART_MS), env={"TURNSTONE_FLEET_PLANT": plant} if plant else None)
    try:
        out, err = worker.communicate(timeout=800)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"the worker does not end; its last events: {list(events(log))[-8:]}") from None
    finally:
        worker.kill()
    equal(worker.returncode, 0, (out, err))


def is_parked_as_planted(storm, number):
    shown = storm.fleet.show(number)
    equal((shown["status"], shown["done"], shown["parked"]), ("Done", len(storm.origins), len(PLANTED)), (number, shown))
    equal(sorted(one["cause"] for one in shown["parked_items"]), sorted(PLANTED.values()), (number, shown["parked_items"]))
    audit = json.loads(storm.fleet.ok("run", "audit", "--run", str(number), "--json"))
    equal(audit["clean"], True, audit)


def undisturbed(storm):
    """Scans the same repositories once with another cluster and other mirrors. Returns this cluster, the bytes read, and bytes per second."""
    calm = Fleet(f"rocksdb:{os.getcwd()}/calm")
    calm.submit(1, "list")
    work(calm, "calm.log", "calm-mirrors")
    done = [one for one in events("calm.log") if one["event"] == "done"]
    read = sum(one.get("bytes_read", 0) for one in done)
    return calm, read, read / max(1, sum(one.get("scan_ms", 0) for one in done)) * 1000


def bytes_are_bounded(storm, read_once, per_second):
    """What is durable is not read again. Each active run reads a target at most once; an interrupted lease costs at most five seconds of
    reading, and no more than its target has. Without the sizes of the targets the limit would be a hundred times higher, and always met."""
    leases = storm.leases()
    read = sum(one["bytes_read"] for one in leases)
    lost = sum(one["event"] == "lost" for one in leases)
    runs = storm.counts["runs"] + 1
    again = sum(min(one.again, runs) * one.size() for one in storm.origins) + RUNS * COMMIT_BYTES * storm.counts["pushes"]
    at_risk = sum(min(5 * per_second, storm.by_target[one["target"]].size()) for one in leases
                  if one["event"] in ("claimed", "part", "lost", "released") and one["bytes_read"] > 0)
    bound = RUNS * read_once + again + at_risk
    bound_without_sizes = read_once + again + (storm.counts["kills"] + lost) * 5 * per_second
    numbers = {"read": read, "undisturbed": read_once, "lost": lost, "parts": sum(one["parts"] for one in leases), "bytes_per_s": round(per_second),
               "again": again, "at_risk": round(at_risk), "bound": round(bound),
               "bound_without_sizes": round(bound_without_sizes)}
    print(f"# {json.dumps({**storm.counts, **numbers})}", flush=True)
    holds(read <= min(bound, bound_without_sizes), numbers)


def check(storm):
    fleet, last = storm.fleet, storm.counts["runs"] + 1
    work(fleet, "quiet.log", "mirrors", storm.plant)  # finish the remaining work of the storm
    if not any(storm.triaged.values()):  # on a slow machine, the storm may have had no finding to decide about
        storm.triage()
        holds(any(storm.triaged.values()), "no decision")
    fleet.submit(last, "list")
    work(fleet, "quiet.log", "mirrors", storm.plant)
    time.sleep(LEASE_MS / 1000 + 0.5)
    work(fleet, "quiet.log", "mirrors", storm.plant)  # only a sweep is left to do
    for number in range(1, last + 1):
        is_parked_as_planted(storm, number)
    fleet.is_clean()
    calm, read_once, per_second = undisturbed(storm)
    report = exported(fleet)
    equal(nameless(report), nameless(scanned_report([one.path for one in storm.origins])), "findings and places")
    equal(nameless(report), nameless(exported(calm)), "findings and places of an undisturbed fleet")
    equal(rows(fleet), rows(calm), "rows")
    one_by_one = [sorted((one["rule"], one["targets"], one["occurrences"]) for one in listed(which)) for which in (fleet, calm)]
    equal(one_by_one[0], one_by_one[1], "counts")
    states = {one["id"]: one["state"] for one in listed(fleet)}
    for finding, state in storm.triaged.items():
        holds(state is None or states.get(finding, state) == state, (finding, state, states.get(finding)))
    decided = {finding for finding, state in states.items() if state not in ("open", "allowed")}
    holds(decided <= set(storm.triaged), decided - set(storm.triaged))
    bytes_are_bounded(storm, read_once, per_second)
    equal([path for path in glob.glob("mirrors/*/*") if not path.endswith((".git", ".lock"))], [], "left beside mirrors")
    equal(glob.glob("mirrors/*/*/objects/**/tmp_*", recursive=True), [], "left in mirrors")
