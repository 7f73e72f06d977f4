#!/usr/bin/env python3
"""turnstone targets: the list of targets that a request selects."""
import json
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from program import complains, run  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402


def targets(*words, stdin=""):
    done = run("targets", "--json", *words, stdin=stdin)
    equal((done.status, done.err), (0, ""))
    return [json.loads(line) for line in done.out.splitlines()]


def repository(path, *options):
    subprocess.run(["git", "init", "-q", *options, path], check=True)
    return os.path.realpath(path)


@test
def spellings_of_one_repository_are_one_target():
    found = targets("git@github.com:a/b.git", "ssh://git@GitHub.com:22//a/b/", "git+ssh://git@github.com/a/./b")
    equal(len(found), 1)
    equal((found[0]["address"], found[0]["selection"], found[0]["object_format"]),
          ("ssh://git@github.com/a/b", "default", "sha1"))
    equal(found[0]["url"], "git@github.com:a/b.git")
    equal(run("targets", "https://Host/a").out.split()[1:], ["https://host/a", "default"])


@test
def a_list_may_have_blanks_at_the_ends_of_its_lines_and_a_mark_of_utf_8():
    expected = targets("-", stdin="https://host/a\nhttps://host/b\tall\n")
    equal(len(expected), 2)
    for text in ("\ufeffhttps://host/a\nhttps://host/b\tall\n", " https://host/a \r\n \r\n\t\n  # a comment\nhttps://host/b\tall \t\r\n",
                 "https://host/a\t\nhttps://host/b\tall"):
        equal(targets("-", stdin=text), expected)
    complains(2, "line 2", "targets", "-", stdin="https://host/a\n\ufeffhttps://host/b\n")
    complains(2, "has a blank", "targets", "-", stdin="https://host/a b\n")


@test
def a_list_that_was_printed_means_the_same_targets():
    path = repository("with a blank")
    for words in (("git@github.com:a/b.git", "https://host/c.git/", "https://host:444/%7ed", path), ("--select", "refs:b,a", "https://host/a", path)):
        wanted = targets(*words)
        printed = run("targets", "--list", *words)
        equal((printed.status, printed.err, printed.out.count("\n")), (0, "", len(wanted)))
        equal(targets("--select", "all", "-", stdin=printed.out), wanted)
    complains(2, "exclude each other", "targets", "--list", "--json", "https://host/a")
    for odd in ("a tab\t.", "blank ", "line\n."):
        complains(2, "a list cannot contain it", "targets", "--list", "https://host/a", repository(odd))


@test
def the_order_of_a_request_changes_nothing():
    lines = [f"https://host/a/{i}{end}" for i in range(50) for end in ("", ".git", "/")]
    lines += [f"https://host/a\trefs:{one}" for one in ("b,a", "a,b,a")]
    wanted = targets("-", stdin="\n".join(lines) + "\n")
    equal(len(wanted), 51)
    for seed in range(5):
        random.Random(seed).shuffle(lines)
        equal(targets("-", stdin="# a comment\n\n" + "\r\n".join(lines)), wanted)


@test
def tenant_selection_and_object_format_make_another_target():
    commit = "A" * 40
    found = [targets("https://host/a", *words)[0]
             for words in ((), ("--tenant", "other"), ("--select", "all"), ("--object-format", "sha256"),
                           ("--select", f"commits:{commit}"), ("--select", "commits:" + "1" * 64))]
    equal(len({one["target"] for one in found}), 6)
    equal(found[4]["selection"], "commits:" + commit.lower())
    equal(found[5]["object_format"], "sha256")


@test
def a_folder_means_the_repositories_in_it():
    os.makedirs("many/deep/er")
    plain = repository("many/plain")
    bare = repository("many/deep/er/bare.git", "--bare")
    long = repository("many/deep/long", "--object-format=sha256")
    repository("many/plain/inside")  # the program does not search inside repositories
    os.symlink(plain, "many/link")
    found = {one["address"]: one for one in targets("many")}
    equal(sorted(found), sorted([plain, bare, long]))
    equal(found[long]["object_format"], "sha256")
    equal(targets(plain, "many/plain/.git", "file://" + plain, "many/link"), [found[plain]])
    complains(2, ["no repository in", "deep"], "targets", os.path.join("many", "deep", "er", "bare.git", "refs"))


@test
def all_bad_lines_are_named_and_their_addresses_are_not():
    with open("list.txt", "w") as file:
        file.write("https://user:hunter2@host/a\nhttps://good/a\nme:hunter2@host:a\n"
                   "https://good/a\trefs:a..b\n/nowhere\n")
    done = run("targets", "list.txt")
    equal((done.status, done.out), (2, ""))
    lines = done.err.splitlines()
    equal([line.split("line ")[1].split(":")[0] for line in lines], ["1", "3", "4", "5"])
    for line, text in zip(lines, ("may be a secret", "may be a secret", "does not allow for a ref", "not a git repository")):
        holds(text in line, line)
    holds("hunter2" not in done.err, done)
    holds("hunter2" not in run("targets", "https://user:hunter2@host/a").err, done)


@test
def bad_requests_are_usage_errors():
    complains(2, "nothing given", "targets")
    complains(2, ["--tenant", "1 to 32 bytes"], "targets", "--tenant", "x" * 33, "https://host/a")
    complains(2, "operand 1: the selection must be default, all", "targets", "--select", "main", "https://host/a")
    complains(2, "begins with '-'", "targets", "--", "-x")
    complains(2, "the commits are not of the repository's object format", "targets", "--select", "commits:" + "1" * 64,
              repository("short"))


main()
