#!/usr/bin/env python3
"""report_formats_test.py SAMPLE: checks each format with parsers of other projects. SAMPLE writes the made-up
report."""
import base64
import csv
import io
import json
import os
import re
import subprocess
import sys
import urllib.parse
import xml.etree.ElementTree as xml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from tap import equal, holds, main, test  # noqa: E402

SAMPLE = os.path.abspath(sys.argv[1])


def written(*words):
    return subprocess.run([SAMPLE, *words], stdout=subprocess.PIPE, check=True).stdout


HOSTILE_PATH = b"a\\b\n\"c\", <b>\xff\xe2\x80\xae.txt"


def text_of_shown(text):
    """Decodes a path in a format other than JSON, as docs/formats/findings.md describes. Returns its
    bytes."""
    return re.sub(rb"\\(\\|x[0-9a-f]{2})", lambda m: b"\\" if m[1] == b"\\" else bytes([int(m[1][1:], 16)]), text.encode())


@test
def json_lines_and_json_have_the_same_findings():
    lines = [json.loads(line) for line in written("jsonl").splitlines()]
    whole = json.loads(written("json"))
    equal(whole["findings"], lines)
    equal([finding["rule"] for finding in lines], ["github-pat", "generic-password", "team-odd"])
    equal(whole["summary"]["findings"], 3)
    equal(whole["summary"]["is_incomplete"], True)
    equal(whole["summary"]["by_severity"], {"critical": 1, "high": 0, "medium": 1, "low": 1})
    for name in ("id", "rule", "severity", "confidence", "secret", "occurrence_count", "occurrences"):
        holds(name in lines[0], name)
    for name in ("repo", "commit", "path", "line", "column", "author", "date"):
        holds(name in lines[0]["occurrences"][0], name)
    equal(lines[0]["occurrences"][0]["date"], "2024-03-01T14:22:07+01:00")


@test
def every_byte_of_a_path_can_be_had_from_json():
    place = json.loads(written("jsonl").splitlines()[0])["occurrences"][2]
    equal(base64.b64decode(place["path_base64"]), HOSTILE_PATH)
    equal(place["path"], HOSTILE_PATH.replace(b"\xff", "\ufffd".encode()).decode())
    plain = json.loads(written("jsonl").splitlines()[0])["occurrences"][0]
    holds("path_base64" not in plain, "a path that is UTF-8 stands there once")


@test
def a_line_of_csv_is_an_occurrence_and_never_a_formula():
    data = written("csv")
    equal(data.count(b"\r\n"), data.count(b"\n"))
    rows = list(csv.DictReader(io.StringIO(data.decode(), newline=""), strict=True))
    equal(len(rows), data.count(b"\n") - 1, "no field breaks a line")
    equal([row["rule"] for row in rows], ["github-pat"] * 3 + ["generic-password", "team-odd"])
    for row in rows:
        for name, value in row.items():
            holds(not re.match("[=+@\t\r\uff1d\uff0b\uff0d\uff20-]", value), f"{name}: {value}")
    equal(text_of_shown(rows[2]["path"]), HOSTILE_PATH)
    equal(rows[3]["author"].removeprefix("'"), "=cmd()|'/c calc'!A0, \"M\u00fcller\"")
    equal(rows[3]["path"].removeprefix("'"), '=HYPERLINK("http://evil")/<img src=x onerror=alert(1)>.py')


@test
def junit_has_a_failure_for_each_finding_and_an_error_when_incomplete():
    root = xml.fromstring(written("junit"))
    equal(root.tag, "testsuites")
    suite = root.find("testsuite")
    cases = suite.findall("testcase")
    for element in (root, suite):
        equal(int(element.get("tests")), len(cases))
        equal(int(element.get("failures")), len(suite.findall("testcase/failure")))
        equal(int(element.get("errors")), len(suite.findall("testcase/error")))
        equal(int(element.get("skipped")), len(suite.findall("testcase/skipped")))
    equal([case.get("classname") for case in cases if case.find("failure") is not None],
          ["github-pat", "generic-password", "team-odd"])
    holds("damaged" in suite.find("testcase/error").text, "the fault is told")
    clean = xml.fromstring(written("junit", "clean"))
    equal((clean.get("failures"), clean.get("errors")), ("0", "0"))
    equal(len(clean.findall("testsuite/testcase")), 1, "a clean scan is a test that passed")


# The part of SARIF 2.1.0 that reports use: {object: (its properties, the names of required properties)}. The
# value of a property is a type, a list of one type, a mapping with any names, or the name of an object.
SARIF = {
    "log": ({"$schema": str, "version": str, "runs": ["run"]}, {"version", "runs"}),
    "run": ({"tool": "tool", "invocations": ["invocation"], "originalUriBaseIds": {"": "artifactLocation"},
             "versionControlProvenance": ["provenance"], "columnKind": str, "redactionTokens": [str], "results": ["result"]}, {"tool"}),
    "tool": ({"driver": "component"}, {"driver"}),
    "component": ({"name": str, "version": str, "semanticVersion": str, "rules": ["rule"]}, {"name"}),
    "rule": ({"id": str, "shortDescription": "text", "fullDescription": "text", "helpUri": str, "help": "help",
              "defaultConfiguration": "configuration",
              "properties": {"": object}}, {"id"}),
    "configuration": ({"level": str}, set()),
    "text": ({"text": str}, {"text"}),
    "help": ({"text": str, "markdown": str}, {"text"}),
    "invocation": ({"executionSuccessful": bool, "toolExecutionNotifications": ["notification"],
                    "toolConfigurationNotifications": ["notification"], "properties": {"": object}}, {"executionSuccessful"}),
    "notification": ({"level": str, "message": "text"}, {"message"}),
    "artifactLocation": ({"uri": str, "uriBaseId": str, "description": "text"}, set()),
    "provenance": ({"repositoryUri": str, "mappedTo": "artifactLocation"}, {"repositoryUri"}),
    "result": ({"ruleId": str, "ruleIndex": int, "level": str, "message": "text", "partialFingerprints": {"": str},
                "occurrenceCount": int, "baselineState": str, "locations": ["location"], "relatedLocations": ["location"],
                "properties": {"": object}}, {"message"}),
    "location": ({"physicalLocation": "physical", "logicalLocations": ["logical"], "properties": {"": object}}, set()),
    "physical": ({"artifactLocation": "artifactLocation", "region": "region"}, {"artifactLocation"}),
    "region": ({"startLine": int, "startColumn": int, "endLine": int, "endColumn": int, "snippet": "text"}, set()),
    "logical": ({"name": str, "kind": str}, set()),
}
URI = r"[A-Za-z0-9._~:/?#@!$&'()*+,;=%-]*"
SARIF_TEXTS = {"level": "none|note|warning|error", "uri": URI, "repositoryUri": URI, "baselineState": "new|unchanged|updated|absent"}


def faults_of(value, kind, where="log", objects=SARIF, texts=SARIF_TEXTS):
    """Returns where a value differs from its kind in the schema, as a list of texts."""
    if isinstance(kind, list):
        if not isinstance(value, list):
            return [f"{where}: no array"]
        return [fault for i, item in enumerate(value) for fault in faults_of(item, kind[0], f"{where}[{i}]", objects, texts)]
    if isinstance(kind, dict):
        return [fault for name, item in value.items() for fault in faults_of(item, kind[""], f"{where}.{name}", objects, texts)]
    if isinstance(kind, str):
        names, needed = objects[kind]
        faults = [f"{where}: no {name}" for name in sorted(needed - set(value))]
        faults += [f"{where}: {name} is no property of it" for name in sorted(set(value) - set(names))]
        return faults + [fault for name in set(value) & set(names)
                         for fault in faults_of(value[name], names[name], f"{where}.{name}", objects, texts)]
    good = isinstance(value, kind) and not (kind is int and isinstance(value, bool))
    faults = [] if good else [f"{where}: {value!r} is no {kind.__name__}"]
    last = where.rsplit(".", 1)[-1]
    if good and kind is str and not re.fullmatch(texts.get(last, ".*"), value, re.DOTALL):
        faults.append(f"{where}: {value!r}")
    if good and kind is int and value < (0 if last == "ruleIndex" else 1):
        faults.append(f"{where}: {value!r} is below 1")
    return faults


@test
def sarif_is_as_the_standard_has_it():
    for words in ((), ("clean",), ("many", "300")):
        log = json.loads(written("sarif", *words))
        equal(faults_of(log, "log"), [])
        equal(log["version"], "2.1.0")
        run = log["runs"][0]
        rules = run["tool"]["driver"]["rules"]
        for result in run["results"]:
            equal(rules[result["ruleIndex"]]["id"], result["ruleId"])
            equal(len(result["locations"]), 1)
        equal(len({rule["id"] for rule in rules}), len(rules), "each rule once")


@test
def the_check_of_sarif_can_fail():
    def broken(change):
        log = json.loads(written("sarif"))
        change(log["runs"][0])
        return len(faults_of(log, "log"))
    equal(broken(lambda run: None), 0)
    equal(broken(lambda run: run.pop("tool")), 1)
    equal(broken(lambda run: run["results"][0].update(level="critical")), 1)
    equal(broken(lambda run: run["results"][0].update(colour="red")), 1)
    equal(broken(lambda run: run["results"][0]["locations"][0]["physicalLocation"]["region"].update(startLine=0)), 1)
    equal(broken(lambda run: run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"].update(uri="a b")), 1)


@test
def sarif_says_where_and_how_it_went():
    run = json.loads(written("sarif"))["runs"][0]
    result = run["results"][0]
    equal(result["partialFingerprints"], {"turnstoneFindingId/v1": "2" * 32})
    equal(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "config/new%20%3Cplace%3E.env", "HEAD has it there")
    equal(result["relatedLocations"][0]["physicalLocation"]["artifactLocation"], {"uri": "config/deploy.env", "uriBaseId": "TARGET0"})
    equal(run["columnKind"], "unicodeCodePoints")
    region = result["relatedLocations"][0]["physicalLocation"]["region"]
    equal((region["startColumn"], region["endColumn"]), (7, 47))
    whole_line = result["relatedLocations"][2]["physicalLocation"]["region"]
    equal(whole_line, {"startLine": 1, "endLine": 1}, "nothing is known of what stands before it")
    equal(result["relatedLocations"][2]["properties"]["column"], 1)
    equal(run["redactionTokens"], ["********", "\u2026"])
    hostile = result["relatedLocations"][2]["physicalLocation"]["artifactLocation"]["uri"]
    equal(urllib.parse.unquote_to_bytes(hostile), HOSTILE_PATH)
    equal(run["originalUriBaseIds"]["TARGET0"]["uri"], "file:///srv/app/")
    equal(run["versionControlProvenance"], [{"repositoryUri": "file:///srv/app/", "mappedTo": {"uriBaseId": "TARGET0"}}])
    equal(run["invocations"][0]["executionSuccessful"], False)
    holds("damaged" in run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"], "the fault is told")
    equal([one["level"] for one in run["invocations"][0]["toolConfigurationNotifications"]], ["warning", "warning", "note"],
          "what targets do to rules is graver than what the user does")
    equal([one["source"] for one in run["invocations"][0]["properties"]["suppressions"]], [".turnstone.yml:12", "turnstone:allow"])
    clean = json.loads(written("sarif", "clean"))["runs"][0]
    equal(clean["invocations"][0]["executionSuccessful"], True)


# The part of GitLab's report of secret detection, version 15, that reports use, in the form of SARIF above.
GITLAB = {
    "report": ({"version": str, "scan": "scan", "vulnerabilities": ["vulnerability"]}, {"version", "scan", "vulnerabilities"}),
    "scan": ({"analyzer": "program", "scanner": "program", "messages": ["message"], "type": str, "start_time": str, "end_time": str,
              "status": str}, {"analyzer", "scanner", "type", "start_time", "end_time", "status"}),
    "program": ({"id": str, "name": str, "version": str, "vendor": "vendor"}, {"id", "name", "version", "vendor"}),
    "vendor": ({"name": str}, {"name"}),
    "message": ({"level": str, "value": str}, {"level", "value"}),
    "vulnerability": ({"id": str, "category": str, "name": str, "description": str, "severity": str, "solution": str,
                       "identifiers": ["identifier"], "location": "location", "details": {"": "detail"}, "links": ["page"],
                       "flags": ["flag"]}, {"id", "category", "name", "severity", "identifiers", "location"}),
    "identifier": ({"type": str, "name": str, "value": str, "url": str}, {"type", "name", "value"}),
    "location": ({"file": str, "start_line": int, "end_line": int, "commit": "commit"}, {"commit"}),
    "commit": ({"sha": str, "author": str, "date": str}, {"sha"}),
    "detail": ({"name": str, "type": str, "value": object, "file_name": str, "line_start": int, "line_end": int}, {"name", "type"}),
    "page": ({"name": str, "url": str}, {"url"}),
    "flag": ({"type": str, "origin": str, "description": str}, {"type", "origin", "description"}),
}
GITLAB_TEXTS = {
    "version": r"\d+\.\d+\.\d+", "start_time": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d",
    "end_time": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", "status": "success|failure", "level": "info|warn|fatal", "url": "https?://.+",
    "severity": "Info|Unknown|Low|Medium|High|Critical", "sha": "[0-9a-f]+", "category": "secret_detection",
}
GITLAB_DETAILS = {"text": {"value"}, "value": {"value"}, "file-location": {"file_name", "line_start", "line_end"}}


def gitlab_faults(report):
    faults = faults_of(report, "report", "report", GITLAB, GITLAB_TEXTS)
    for one in report.get("vulnerabilities", []):
        faults += [f"{one.get('id')}: too long" for name, most in (("name", 255), ("solution", 7000)) if len(one.get(name, "")) > most]
        faults += [f"{one.get('id')}: no identifier"] if not one["identifiers"] else []
        faults += [f"{one.get('id')}: {detail}" for detail in one.get("details", {}).values()
                   if set(detail) - {"name", "type"} != GITLAB_DETAILS.get(detail["type"])]
    return faults


@test
def gitlab_is_as_its_schema_has_it():
    for words in ((), ("clean",), ("many", "300")):
        report = json.loads(written("gitlab", *words))
        equal(gitlab_faults(report), [])
        holds("raw_source_code_extract" not in str(report), "GitLab shows it to every developer")

    def broken(change):
        report = json.loads(written("gitlab"))
        change(report)
        return len(gitlab_faults(report))
    equal(broken(lambda report: None), 0)
    equal(broken(lambda report: report.pop("scan")), 1)
    equal(broken(lambda report: report["scan"].update(start_time="2024-03-01")), 1)
    equal(broken(lambda report: report["scan"].update(status="done")), 1)
    equal(broken(lambda report: report["vulnerabilities"][0].update(severity="critical")), 1)
    equal(broken(lambda report: report["vulnerabilities"][0].update(identifiers=[])), 1)
    equal(broken(lambda report: report["vulnerabilities"][0]["location"].pop("commit")), 1)
    equal(broken(lambda report: report["vulnerabilities"][0]["details"]["head"].pop("file_name")), 1)


@test
def gitlab_says_where_and_how_it_went():
    report = json.loads(written("gitlab"))
    scan = report["scan"]
    equal((scan["start_time"], scan["end_time"]), ("2024-03-01T13:22:07", "2024-03-01T13:23:10"))
    equal((scan["type"], scan["status"]), ("secret_detection", "failure"))
    holds("damaged" in scan["messages"][0]["value"], "the fault is told")
    holds(any(".turnstone.yml:12: test <fixtures>" in one["value"] for one in scan["messages"]), "suppressions, too")
    first = report["vulnerabilities"][0]
    equal(first["id"], "2" * 32)
    equal([one["value"] for one in first["identifiers"]], ["github-pat"])
    equal(first["severity"], "Critical")
    equal(first["location"], {"file": "config/deploy.env", "start_line": 12, "end_line": 12,
                              "commit": {"sha": "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d", "author": "Ada Lovelace <ada@example.org>",
                                         "date": "2024-03-01T14:22:07+01:00"}}, "the first occurrence, which stays")
    equal((first["details"]["head"]["file_name"], first["details"]["head"]["line_start"]), ("config/new <place>.env", 14))
    holds("flags" not in first, "only a low confidence is a likely false positive")
    equal([one["rule"] for one in map(json.loads, written("jsonl").splitlines()) if one["confidence"] == "low"],
          [one["identifiers"][0]["value"] for one in report["vulnerabilities"] if "flags" in one])
    outside = report["vulnerabilities"][2]
    equal((outside["location"]["commit"]["sha"], "file" in outside["location"]), ("0000000", False))
    clean = json.loads(written("gitlab", "clean"))
    equal((clean["scan"]["status"], clean["vulnerabilities"]), ("success", []))


main()
