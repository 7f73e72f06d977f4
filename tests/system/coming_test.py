#!/usr/bin/env python3
"""Coming from another tool: reports, baselines, ignore files and rules that it wrote, and reports that it reads."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from program import complains, run  # noqa: E402
from repo import Repo, github_token  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

CLEAN, FINDINGS, USAGE = 0, 1, 2


def leaky(count=2):
    """Secrets 0 to count - 1, in line 2 of 0.txt and so on. Returns the repository and its commit."""
    repo = Repo("repo")
    for i in range(count):
        repo.write(f"{i}.txt", f"a line\ntoken = {github_token(i)}\n")
    return repo, repo.commit("first")


@test
def gitlab_gets_its_report():
    _, commit = leaky(1)
    environment = {"SOURCE_DATE_EPOCH": "1700000000"}
    result = run("scan", "repo", "-o", "gl-secret-detection-report.json", env=environment)
    equal(result.status, FINDINGS, result)
    with open("gl-secret-detection-report.json", encoding="utf-8") as file:
        report = json.load(file)
    equal(report["scan"]["start_time"], "2023-11-14T22:13:20")
    location = report["vulnerabilities"][0]["location"]
    equal((location["file"], location["start_line"], location["commit"]["sha"]), ("0.txt", 2, commit))
    again = run("scan", "repo", "--format", "gitlab", "--show-secrets", env=environment)
    equal(json.loads(again.out), report, "no secret, whatever is asked for")
    complains(USAGE, "SOURCE_DATE_EPOCH", "scan", "repo", "--format", "gitlab", env={"SOURCE_DATE_EPOCH": "today"})
    equal(run("scan", "repo", "--format", "json", env={"SOURCE_DATE_EPOCH": "today"}).status, FINDINGS, "unused here")


main()
