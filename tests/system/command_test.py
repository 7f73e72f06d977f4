#!/usr/bin/env python3
"""What all verbs have in common: version, help, man page, completions, and errors for wrong usage."""
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from program import PROGRAM, answers, complains, run  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

VERBS = re.findall(r"^  (\w+(?: \w+)?) {2,}\w", run("help").out.split("'turnstone help VERB'")[0], re.MULTILINE)


@test
def version_is_one_line():
    result = run("--version")
    equal(result.status, 0)
    holds(re.fullmatch(r"turnstone \d+\.\d+\.\d+\n", result.out), result)


@test
def help_lists_every_verb_and_the_exit_statuses():
    result = run("help")
    equal(result.status, 0)
    holds({"route", "bench route", "help"} <= set(VERBS), VERBS)
    for status, words in ((0, "success, also of a transaction that is committed but pending"), (1, "findings"), (2, "usage or bad input"),
                          (3, "refused: "), (4, "incomplete"), (5, "outcome unknown"),
                          (6, "infrastructure failed")):
        holds(f"  {status}  {words}" in result.out, words)
    equal(run("--help").out, result.out)
    equal(run("-h").out, result.out)


@test
def help_of_a_verb_is_the_same_from_both_sides():
    for verb in VERBS:
        words = verb.split()
        result = run("help", *words)
        equal(result.status, 0, verb)
        holds(f"Usage: turnstone {verb}" in result.out, result)
        equal(run(*words, "--help").out, result.out, verb)
        for line in result.out.splitlines():
            # lines with usage, options and examples are not wrapped
            holds(len(line) <= 80 or line.startswith(("Usage:", "  ")), f"too wide: {line}")
    for line in run("help").out.splitlines():
        holds(len(line) <= 80, f"too wide: {line}")


def on_a_terminal(columns, *words):
    """Returns what the program prints on a terminal with this many columns."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    process = subprocess.Popen([PROGRAM, *words], stdout=its, stdin=subprocess.DEVNULL)
    os.close(its)
    out = b""
    while True:
        try:
            more = os.read(ours, 65536)
        except OSError:  # the program has closed its side of the terminal
            break
        out += more
    os.close(ours)
    equal(process.wait(), 0)
    return out.decode().replace("\r\n", "\n")


@test
def help_fits_a_narrow_terminal():
    """A line may exceed the width of the terminal only if it is a command, an operand or a word that does not
    fit."""
    for words in ((), ("scan",), ("run", "create"), ("lease", "split-residual"), ("bench",)):
        text = on_a_terminal(40, "help", *words)
        equal(text.split(), run("help", *words).out.split(), words)
        long = [line for line in text.splitlines() if len(line) > 40 and len(line.split()) > 2]
        equal([line for line in long if not re.match(r"turnstone |Usage: | {2,6}\S.*(turnstone |\|)| {6}\S", line)], [], words)


@test
def help_of_a_group_lists_its_verbs():
    result = run("help", "bench")
    equal(result.status, 0)
    holds("bench route" in result.out, result)
    equal(run("bench", "--help").out, result.out)


@test
def examples_of_help_run():
    environment = {"PATH": os.path.dirname(PROGRAM) + ":" + os.environ["PATH"], "TURNSTONE_STORE_INDEX": "0",
                   "TURNSTONE_STORE_COUNT": "4", "MANPAGER": "cat"}
    environment["TURNSTONE_CLUSTER"] = f"rocksdb:{os.getcwd()}/store"
    equal(run("store", "init", env=environment).status, 0)
    for verb in VERBS:
        text = run("help", *verb.split()).out
        if "Examples:" not in text:
            continue
        for command in re.findall(r"^  (\S.*)$", text.split("Examples:")[1].split("\n\n")[0], re.MULTILINE):
            command = command.replace("man -l -", "mandoc")
            done = subprocess.run(["bash", "-o", "pipefail", "-c", command], env={**os.environ, **environment},
                                  capture_output=True, text=True)
            equal((done.returncode, done.stderr), (0, ""), command)
            holds(done.stdout, f"{command} prints nothing")


@test
def no_verb_is_a_usage_error():
    complains(2, "turnstone help")


@test
def an_unknown_verb_gets_the_nearest():
    complains(2, ["'rout'", "did you mean 'route'"], "rout", "1")
    complains(2, ["'hlep'", "did you mean 'help'"], "hlep")
    complains(2, ["'bench rotue'", "did you mean 'bench route'"], "bench", "rotue")
    complains(2, ["'rout'", "did you mean 'route'"], "help", "rout")


@test
def an_unknown_verb_that_is_near_to_nothing_gets_no_guess():
    result = complains(2, ["'xylophone'", "'turnstone help' lists them"], "xylophone")
    holds("did you mean" not in result.err, result)
    complains(2, ["'bench xylophone'", "turnstone help bench"], "bench", "xylophone")


@test
def a_group_alone_wants_a_second_word():
    complains(2, ["'bench'", "turnstone help bench"], "bench")


@test
def an_unknown_option_gets_the_nearest():
    complains(2, ["route", "'--store'", "did you mean '--stores'"], "route", "--store", "4", "1")
    complains(2, ["'--jsno'", "did you mean '--json'"], "bench", "route", "--jsno")
    complains(2, ["'--verison'", "did you mean '--version'"], "--verison")
    complains(2, ["'--stroe'", "did you mean '--stores'"], "route", "--stroe=4", "1")
    complains(2, ["'--min-conf'", "did you mean '--min-confidence'"], "protect", "--min-conf", "high")
    complains(2, ["'--max'", "'turnstone help scan' lists them"], "scan", "--max", "1")  # several options begin like this


@test
def an_option_without_its_value_says_so():
    complains(2, "--stores needs a value", "route", "--stores")


@test
def a_flag_with_a_value_says_so():
    complains(2, "--json takes no value", "route", "--json=yes", "--stores", "4", "1")


@test
def an_option_twice_says_so():
    complains(2, "--stores is given twice", "route", "--stores", "4", "--stores", "5", "1")


@test
def a_word_too_many_says_so():
    complains(2, "unknown verb 'route x'; leave out 'x'", "help", "route", "x")
    complains(2, "unexpected operand 'x'", "--version", "x")
    complains(2, ["'bench'", "second word"], "bench", "--json")
    complains(2, "unknown verb 'txn statsu'; did you mean 'txn status'?", "txn", "statsu", "x")
    complains(2, "unknown verb 'txn x'; 'turnstone help txn' lists them", "txn", "x")
    complains(2, "unexpected operand 'surplus'", "bench", "route", "surplus")


@test
def a_wrong_choice_gets_the_list_and_the_nearest():
    complains(2, ["single|xxh64|fnv1a|jump|range", "'xxh46'", "did you mean 'xxh64'"],
              "route", "--strategy", "xxh46", "--stores", "4", "1")


@test
def control_characters_of_users_never_reach_the_terminal():
    result = complains(2, "\\x1b[31m", "\x1b[31mevil\n")
    holds("\x1b" not in result.err, result)
    result = complains(2, "\\x1b", "route", "--stores", "4", "\x1b]0;title\x07")
    holds("\x1b" not in result.err and "\x07" not in result.err, result)


@test
def a_full_disk_is_seen():
    for arguments in (["help"], ["--version"], ["route", "--stores", "4", "1"], ["help", "--as", "man"]):
        with open("/dev/full", "w") as full:
            complains(6, ["standard output", "No space left"], *arguments, stdout=full)


@test
def a_closed_reader_ends_it_quietly():
    done = subprocess.run(["bash", "-c", f"seq 1000000 | '{PROGRAM}' route --stores 4 - | head -n 1; exit ${{PIPESTATUS[2]}}"],
                          capture_output=True, text=True)
    equal((done.returncode, done.stderr), (0, ""))


@test
def the_man_page_is_sound_and_has_every_verb_and_option():
    page = run("help", "--as", "man").out
    done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning"], input=page, capture_output=True, text=True)
    complaints = [line for line in done.stdout.splitlines() if "missing date" not in line]
    equal(complaints, [], "mandoc")
    text = subprocess.run(["mandoc", "-T", "utf8"], input=page, capture_output=True, text=True).stdout
    text = re.sub(r".\x08", "", text)
    for verb in VERBS:
        holds(f"turnstone {verb}" in text, f"{verb} is not in the man page")
        for option in re.findall(r"^  (--[\w-]+)", run("help", *verb.split()).out, re.MULTILINE):
            holds(option in text, f"{option} of {verb} is not in the man page")
    holds("EXIT STATUS" in text and "infrastructure failed" in text, "exit statuses")


def bash_completes(*words):
    script = (f"source <('{PROGRAM}' help --as bash); COMP_WORDS=({' '.join(repr(w) for w in words)}); "
              f"COMP_CWORD={len(words) - 1}; _turnstone; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
    done = subprocess.run(["bash", "-eu", "-c", script], capture_output=True, text=True)
    equal((done.returncode, done.stderr), (0, ""), f"bash completion of {words}")
    return done.stdout.split()


COMPLETIONS = (
    (["turnstone", "ro"], ["route"]),
    (["turnstone", "--v"], ["--version"]),
    (["turnstone", "bench", "r"], ["route"]),
    (["turnstone", "route", "--st"], ["--strategy", "--stores"]),
    (["turnstone", "route", "--strategy", "j"], ["jump"]),
    (["turnstone", "bench", "route", "--j"], ["--json"]),
    (["turnstone", "help", "ro"], ["route"]),
    (["turnstone", "route", "--strategy", "=", "j"], ["jump"]),
    (["turnstone", "route", "4"], []),
)


@test
def bash_completes_verbs_options_and_values():
    for words, expected in COMPLETIONS:
        equal(bash_completes(*words), expected, f"bash completion of {words}")


def zsh_types(keys, folder):
    """Types these keys into a real zsh with our completion, and returns the completed command line."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update({"ZDOTDIR": folder, "TERM": "dumb", "PS1": "", "COLUMNS": "200"})
        os.execvp("zsh", ["zsh", "-f", "-i"])
    seen = b""

    def until(mark, seconds=20):
        nonlocal seen
        end = time.monotonic() + seconds
        while mark not in seen and time.monotonic() < end:
            if select.select([terminal], [], [], 0.1)[0]:
                try:
                    seen += os.read(terminal, 4096)
                except OSError:
                    break
        holds(mark in seen, f"zsh did not show {mark!r}: {seen[-500:]!r}")

    setup = f"fpath=('{folder}' $fpath); autoload -Uz compinit; compinit -u -d '{folder}/dump'; print READY$((40+2))\n"
    os.write(terminal, setup.encode())
    until(b"READY42")
    # The line is printed instead of executed, so that the result of the completion is visible.
    os.write(terminal, b"turnstone() { print -r -- L$((40+2)) \"$@\" E$((40+2)); }; print SET$((40+2))\n")
    until(b"SET42")
    os.write(terminal, keys.encode())
    time.sleep(0.5)
    os.write(terminal, b"\n")
    until(b" E42")
    os.write(terminal, b"exit\n")
    os.close(terminal)
    os.waitpid(pid, 0)
    lines = re.findall(rb"L42 (.*?) E42", seen)
    return lines[-1].decode().split()


@test
def zsh_completes_the_same():
    with open("_turnstone", "w") as file:
        file.write(run("help", "--as", "zsh").out)
    folder = os.getcwd()
    equal(zsh_types("turnstone ro\t", folder), ["route"])
    equal(zsh_types("turnstone bench r\t", folder), ["bench", "route"])
    equal(zsh_types("turnstone route --stra\tj\t", folder), ["route", "--strategy", "jump"])
    equal(zsh_types("turnstone bench route --j\t", folder), ["bench", "route", "--json"])


main()
