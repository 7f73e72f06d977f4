#!/usr/bin/env python3
"""What users need while they wait for a scan: progress on a narrow terminal, and Ctrl-C.

The tests do not depend on the speed of the machine: a scan with --ungated has minutes of work, and a test
waits until the terminal shows a text. """
import fcntl
import io
import json
import os
import random
import re
import signal
import struct
import subprocess
import sys
import tarfile
import tempfile
import termios
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "python"))
from program import IS_SANITIZED, PROGRAM  # noqa: E402
from repo import Repo, github_token  # noqa: E402
from tap import equal, holds, main, test  # noqa: E402

COLUMNS = 40
FILES = 150
# Matches a complete line of progress.
LINE = re.compile(r"(starting|reading history|scanning|finding origins)"
                  r"(: \d+(/\d+)? objects?(, [\d.]+ \w+)?(, [\d.]+ \w+/s)?, \d+ findings?(, [\d:]+ left)?)?|\d+ objects, \d+ found|stopping|")


def large_repository(path):
    repo, words = Repo(path), random.Random(1)
    for i in range(FILES):
        text = "".join(f"{words.getrandbits(64):x} = {words.getrandbits(40):x}\n" for _ in range(2000))
        repo.write(f"f{i}.txt", f"{github_token(i)}\n{text}")
    repo.commit()
    return path


_made = tempfile.TemporaryDirectory()
LARGE = large_repository(os.path.join(_made.name, "repo"))


class Terminal:
    """A scan whose standard error is a terminal, and whose report is a file."""

    def __init__(self, *arguments):
        self.master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
        self.process = subprocess.Popen([PROGRAM, "scan", "--no-state", *arguments, "--output", "report.json"], stderr=slave,
                                        stdin=subprocess.DEVNULL, env={**os.environ, "TERM": "xterm"})
        os.close(slave)
        self.text = ""

    def lines(self):
        """Returns the lines of progress so far. Each line overwrites the previous line. The last line may be
        incomplete."""
        return self.text.split("\r\x1b[K")

    def read(self):
        """Reads more output of the program. Returns False at the end of the output."""
        try:
            part = os.read(self.master, 4096)
        except OSError:  # the program has closed its side of the terminal
            part = b""
        self.text += part.decode()
        return bool(part)

    def wait_for(self, pattern):
        while not any(re.search(pattern, line) for line in self.lines()[:-1]):
            holds(self.read(), f"the end came before '{pattern}': {self.text!r}")

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)
        while self.read():
            pass
        os.close(self.master)
        return self.process.wait(timeout=600)


def report():
    with open("report.json") as file:
        return json.load(file)


@test
def progress_on_a_narrow_terminal_is_not_cut():
    terminal = Terminal("--ungated", LARGE)
    terminal.wait_for(r"[1-9]\d* (findings|found)")
    for _ in range(5):
        terminal.read()
    lines = terminal.lines()[1:-1]
    terminal.interrupt()
    holds(len(lines) >= 2, terminal.text)
    for line in lines:
        holds(LINE.fullmatch(line) and len(line) < COLUMNS, line)
    holds(any("objects" in line for line in lines), lines)


@test
def a_signal_before_anything_is_found_ends_the_program():
    os.environ["XDG_CACHE_HOME"] = os.path.abspath("cache")  # empty, so the program compiles rules
    terminal = Terminal("--ungated", LARGE)
    terminal.wait_for("starting|reading|scanning")
    status = terminal.interrupt()
    del os.environ["XDG_CACHE_HOME"]
    equal(status, 4)
    holds("turnstone: stopped before anything was found" in terminal.text or "turnstone: stopping;" in terminal.text, terminal.text)


def processor_seconds(process):
    """Returns the CPU time that all threads of the process have used so far."""
    with open(f"/proc/{process.pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def interrupted(*arguments, number=signal.SIGINT):
    """Starts a scan, and sends it a signal while it scans content. Returns the processor time that the scan
    uses after the signal."""
    started = time.monotonic()
    process = subprocess.Popen([PROGRAM, "scan", "--no-state", "--output", "report.json", *arguments], stderr=subprocess.DEVNULL)
    # The start of a scan takes less processor time than this limit. The content takes several times the
    # limit.
    while processor_seconds(process) < (4 if IS_SANITIZED else 0.8):
        holds(process.poll() is None and time.monotonic() - started < 300, "the scan ended by itself")
        time.sleep(0.01)
    before = processor_seconds(process)
    process.send_signal(number)
    if number == signal.SIGTERM:  # timeout(1) also sends this signal twice
        time.sleep(0.002)
        os.kill(process.pid, number)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    equal(process.returncode, 4)
    holds(report()["summary"]["is_stopped"], report()["summary"])
    return usage.ru_utime + usage.ru_stime - before


def ends_soon(*arguments):
    after = interrupted(*arguments)
    holds(after < (1 if IS_SANITIZED else 0.1), f"{after:.2f} s of processor time after the signal")
    return report()["findings"]


@test
def a_signal_ends_a_scan_in_the_middle_of_a_content():
    words = random.Random(2)
    with open("one.txt", "w") as file:
        for i in range(100_000):
            file.write(f"{words.getrandbits(64):x} = {words.getrandbits(40):x}\n")
            if i == 100:
                file.write(f"{github_token(1)}\n")
    equal(len(ends_soon("--ungated", "one.txt")), 1)
    interrupted("--ungated", "one.txt", number=signal.SIGTERM)


@test
def a_signal_ends_a_scan_in_the_middle_of_a_large_file_or_an_archive():
    words = random.Random(4)
    matches = "".join(f"password = 'a{words.getrandbits(80):x}'\n" for _ in range(2000)).encode()
    with open("large.txt", "wb") as file:
        file.write(matches * 600)
    text = "".join(f"{words.getrandbits(64):x} = {words.getrandbits(40):x}\n" for _ in range(300))
    with tarfile.open("a.tar.gz", "w:gz", compresslevel=1) as archive:
        for i in range(3000):
            member = f"{github_token(i)}\n{text}".encode()
            entry = tarfile.TarInfo(f"{i}.txt")
            entry.size = len(member)
            archive.addfile(entry, io.BytesIO(member))
    for name, *options in ("large.txt",), ("a.tar.gz", "--ungated"):
        holds(len(ends_soon(name, *options)) > 0, name)


@test
def a_signal_ends_a_scan_with_what_it_has_found():
    for threads in ("1", "3"):
        terminal = Terminal("--ungated", "--jobs", threads, LARGE)
        terminal.wait_for(r"[1-9]\d* (findings|found)")
        equal(terminal.interrupt(), 4)
        holds("turnstone: stopping; a second Ctrl-C ends the program at once" in terminal.text, terminal.text)
        holds("stopped before the end" in terminal.text, terminal.text)
        found = report()
        holds(0 < len(found["findings"]) < FILES and found["summary"]["blobs"] < FILES, found["summary"])
        holds(IS_SANITIZED or any(finding["occurrences"][0]["path"] for finding in found["findings"]), "there was time for paths")


@test
def what_a_stopped_scan_has_found_is_masked_everywhere():
    """The test puts found secrets into paths and other lines, too."""
    repo, words = Repo("masked"), random.Random(3)
    tokens = [github_token(f"masked {i}") for i in range(60)]
    for i, token in enumerate(tokens):
        text = "".join(f"{words.getrandbits(64):x} = {words.getrandbits(40):x}\n" for _ in range(2000))
        repo.write(f"of-{token}/{i}.txt", f"token = {token} # not {tokens[0]}\n{text}")
    repo.commit()
    terminal = Terminal("--ungated", "--jobs", "1", "masked")
    terminal.wait_for(r"[1-9]\d* (findings|found)")
    equal(terminal.interrupt(), 4)
    found = report()
    holds(found["summary"]["is_stopped"] and found["findings"], found["summary"])
    holds(IS_SANITIZED or any(finding["occurrences"][0]["path"] for finding in found["findings"]), "there was time for paths")
    shown = {finding["secret"] for finding in found["findings"]}
    with open("report.json") as file:
        text = file.read()
    known = [token for token in tokens if f"{token[:4]}…{token[-4:]}" in shown]
    equal(len(known), len(shown))
    for token in known:
        holds(token not in text and token not in terminal.text, "a secret is in the report of a stopped scan")


main()
