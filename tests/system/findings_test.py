#!/usr/bin/env python3
"""turnstone findings: lists, shows and exports the findings of a fleet, and stores decisions about them."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from fleet import Fleet, repositories, scanned  # noqa: E402
from program import complains, run  # noqa: E402
from repo import Repo, github_token  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

FORMATS = ("text", "json", "jsonl", "sarif", "csv", "junit", "gitlab", "html")
# Made-up secrets have a low confidence.
ALL = ("--confidence", "low")


def scan_all(fleet, number, *targets, tenant="default"):
    fleet.submit(number, *targets, options=("--tenant", tenant))
    status, out, err = fleet.work("--tenant", tenant)
    equal((status, err), (0, ""), out)


def listed(fleet, *options):
    """Lists all findings page by page. Returns the findings and the number of pages."""
    found, pages, after = [], 0, ()
    while True:
        lines = [json.loads(line) for line in fleet.ok("findings", "list", "--json", *ALL, *options, *after).splitlines()]
        found += [line for line in lines if "next" not in line]
        pages += 1
        if not lines or "next" not in lines[-1]:
            return found, pages
        equal(lines[-1]["next"], found[-1]["id"])
        after = ("--after", lines[-1]["next"])


@test
def findings_of_all_repositories_are_listed_in_pages_that_stay_the_same():
    paths = repositories("repos", 6, is_full=True)
    fleet = Fleet(f"rocksdb:{os.getcwd()}/a,rocksdb:{os.getcwd()}/b")
    equal(fleet.ok("findings", "list"), "no findings\n")
    scan_all(fleet, 1, "repos")
    found, pages = listed(fleet)
    ids = [one["id"] for one in found]
    equal((ids, pages), (sorted(ids), 1))
    holds(len(ids) >= 8, found)
    equal(max(one["targets"] for one in found), 6)
    # Each repository has a secret at two places. A mark allows one of the places, and a scan does not count
    # that place.
    equal(sum(one["occurrences"] for one in found), sum(len(one) for one in scanned(paths)) + len(paths))
    for size in (1, 2, 3, 5):
        again, pages = listed(fleet, "--limit", str(size))
        equal((again, pages), (found, (len(found) + size - 1) // size))
    text = fleet.ok("findings", "list", *ALL, "--limit", "2")
    equal(text.splitlines()[2], f"more findings: add --after {ids[1]}")
    for line, one in zip(text.splitlines()[:2], found):
        holds(one["first"]["repo"] in paths and f", {one['first']['repo']} {one['first']['path']}:{one['first']['line']}" in line, line)


@test
def one_finding_is_shown_with_all_its_places():
    paths = repositories("repos", 3)
    fleet = Fleet()
    scan_all(fleet, 1, "repos")
    shared = next(one["id"] for one in listed(fleet)[0] if one["targets"] == 3)
    text = fleet.ok("findings", "show", shared)
    for path in paths:
        equal(text.splitlines().count(path), 1, text)
    equal(text.count("shared.env:2:7"), 3, text)
    report = json.loads(fleet.ok("findings", "show", shared, "--json"))
    equal([len(one["occurrences"]) for one in report["findings"]], [3])


@test
def the_export_is_what_a_scan_of_all_targets_reports_in_every_format():
    paths = repositories("repos", 4, is_full=True)
    fleet = Fleet()
    scan_all(fleet, 1, "repos")
    equal(fleet.findings(), scanned(paths))
    marked = [place[-1] for place in fleet.every_place() if place[4] == "marked.env"]
    equal(marked, [True] * 8, "places that marks allow are exported as such")
    for format in FORMATS:
        out = fleet.ok("findings", "export", "--format", format, *ALL)
        holds("shared.env" in out, f"{format}: {out[:500]}")
    equal(json.loads(fleet.ok("findings", "export", "--severity", "critical", "--rule", "none", *ALL))["findings"], [])


@test
def a_decision_survives_rescans_holds_everywhere_and_is_the_tenants_own():
    repos = [Repo(f"repos/{name}") for name in ("one", "two", "three")]
    for repo in repos:
        repo.write("shared.env", f"TOKEN={github_token('shared')}\n")
        repo.commit("first")
    fleet = Fleet()
    scan_all(fleet, 1, "repos")
    shared = next(one["id"] for one in listed(fleet)[0] if one["targets"] == 3)
    answer = json.loads(fleet.ok("findings", "triage", shared, "--state", "revoked", "--reason", "rotated", "--by", "kim", "--json"))
    equal((answer["before"], answer["triage"]["state"], answer["triage"]["by"]), ("open", "revoked", "kim"))
    holds(all(one["id"] != shared for one in listed(fleet)[0]), "it is not open any more")
    repos[0].write("late.env", f"TOKEN={github_token('late')}\n")
    repos[0].commit("late")
    scan_all(fleet, 2, "repos")
    (found,), _ = listed(fleet, "--state", "revoked")
    equal((found["id"], found["targets"], found["triage"]["reason"]), (shared, 3, "rotated"))
    holds("state: revoked, by kim" in fleet.ok("findings", "show", shared), "the decision is shown")
    scan_all(fleet, 3, "repos", tenant="other")
    theirs, _ = listed(fleet, "--tenant", "other", "--state", "all")
    holds(all(one["state"] == "open" for one in theirs), theirs)
    holds(not {one["id"] for one in theirs} & {one["id"] for one in listed(fleet, "--state", "all")[0]}, "ids are the tenant's")
    fleet.ok("findings", "triage", shared, "--state", "open", "--by", "kim")
    holds(any(one["id"] == shared for one in listed(fleet)[0]), "it is open again")


@test
def marks_in_the_source_make_a_finding_allowed_while_nobody_decides():
    repo = Repo("repos/one")
    repo.write("a.env", f"TOKEN={github_token('allowed')} # turnstone:allow\nOTHER={github_token('open')}\n")
    repo.commit("first")
    fleet = Fleet()
    scan_all(fleet, 1, "repos")
    (allowed,), _ = listed(fleet, "--state", "allowed")
    (still_open,), _ = listed(fleet)
    equal((allowed["state"], still_open["state"]), ("allowed", "open"))
    holds("allowed in source" in fleet.ok("findings", "show", allowed["id"]), "the place says so")
    fleet.ok("findings", "triage", allowed["id"], "--state", "false-positive", "--reason", "an example", "--by", "kim")
    equal(listed(fleet, "--state", "allowed")[0], [])


@test
def filters_choose_findings():
    repositories("repos", 3)
    fleet = Fleet()
    made = fleet.submit(1, "repos")
    equal(made["targets"], 3)
    fleet.work()
    every, _ = listed(fleet)
    keys, _ = listed(fleet, "--rule", "private-key")
    equal({one["rule"] for one in keys}, {"private-key"})
    holds(0 < len(keys) < len(every), every)
    target = every[0]["first"]["target"]
    of_target, _ = listed(fleet, "--target", target)
    holds(every[0] in of_target and len(of_target) < len(every), of_target)


@test
def a_target_that_was_never_scanned_is_refused_instead_of_looking_clean():
    paths = repositories("repos", 1)
    fleet = Fleet()
    scan_all(fleet, 1, "repos")
    ids = [run("targets", "--select", select, paths[0]).out.split()[0] for select in ("all", "default")]
    for verb in ("list", "export"):
        holds("shared.env" in fleet.ok("findings", verb, "--target", ids[0], *ALL), verb)
        result = fleet.run("findings", verb, "--target", ids[1], "--json")
        equal((result.status, json.loads(result.out)), (3, {"error": "TargetNotFound", "target": ids[1]}), verb)
        holds(f"no complete scan of the target '{ids[1]}'; 'turnstone targets' with the --select of the run" in result.err, result)


@test
def wrong_arguments_are_one_line_with_the_fix():
    fleet = Fleet()
    where = ("--cluster", fleet.urls)
    unknown = "0" * 32
    complains(2, "32 hexadecimal digits", "findings", "show", "abc", *where)
    complains(2, "give the id of one finding", "findings", "show", *where)
    complains(2, "--reason is missing", "findings", "triage", unknown, "--state", "revoked", "--by", "kim", *where)
    complains(2, "--state is missing", "findings", "triage", unknown, "--by", "kim", *where)
    complains(2, "--limit must be 1 to 100000", "findings", "list", "--limit", "0", *where)
    complains(2, "--after 'x' is not the id of a finding", "findings", "list", "--after", "x", *where)
    complains(2, "--target 'x' is not the id of a target", "findings", "list", "--target", "x", *where)
    result = fleet.run("findings", "show", unknown, "--json")
    equal((result.status, json.loads(result.out)["error"]), (3, "FindingNotFound"), result)
    result = fleet.run("findings", "triage", unknown, "--state", "revoked", "--reason", "r", "--by", "kim")
    equal(result.status, 3, result)
    holds(f"the tenant has no finding '{unknown}'" in result.err, result)


main()
