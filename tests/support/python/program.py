"""Runs the program under test, whose path is the first argument of the test."""
import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import time

PROGRAM = os.path.abspath(sys.argv[1])

with open(PROGRAM, "rb") as program:
    _bytes = program.read()
    IS_SANITIZED = b"__asan_init" in _bytes or b"__tsan_init" in _bytes

# Tests neither use nor change the state of the user who runs them.
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="turnstone-test-state-")
atexit.register(shutil.rmtree, os.environ["XDG_STATE_HOME"], ignore_errors=True)


class Result:
    def __init__(self, done):
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr

    def __repr__(self):
        return f"status {self.status}\nstdout: {self.out[-2000:]}\nstderr: {self.err[-2000:]}"


def without_state(arguments):
    """Returns the arguments with --no-state where a scan would use the state of earlier scans, except in tests of that state."""
    is_scan = arguments[:1] in (("scan",), ("baseline",))
    says = any(one in ("--state", "--no-state", "--help") or one.startswith("--state=") for one in arguments)
    return (arguments[0], "--no-state", *arguments[1:]) if is_scan and not says else arguments


def run(*arguments, stdin="", env=None, **options):
    """Runs the program. Variables in `env` are added to the environment; the value None removes a variable."""
    arguments = without_state(arguments)
    environment = dict(os.environ)
    for name, value in (env or {}).items():
        environment.pop(name, None)
        if value is not None:
            environment[name] = value
    options = {"stdout": subprocess.PIPE, "timeout": 300, **options}
    done = subprocess.run([PROGRAM, *arguments], input=stdin, stderr=subprocess.PIPE, text=True, env=environment, **options)
    return Result(done)


def answers(expected, *arguments, **options):
    """Expects that the program succeeds, prints exactly this text, and prints nothing on standard error."""
    result = run(*arguments, **options)
    if (result.status, result.out, result.err) != (0, expected, ""):
        raise AssertionError(f"{arguments}: expected {expected!r}, found {result}")


def complains(status, expected, *arguments, **options):
    """Expects that the program ends with this status and prints one line on standard error that has all the expected parts."""
    result = run(*arguments, **options)
    parts = [expected] if isinstance(expected, str) else expected
    one_line = result.err.startswith("turnstone: ") and result.err.count("\n") == 1 and result.err.endswith("\n")
    if result.status != status or not one_line or not all(part in result.err for part in parts):
        raise AssertionError(f"{arguments}: expected status {status} and {parts}, found {result}")
    return result


def peak_kib(*arguments, **options):
    """Returns the maximum of the program's memory without mapped files, from frequent samples, and the program's status."""
    child = subprocess.Popen([PROGRAM, *without_state(arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
    peak = 0
    while child.poll() is None:
        with open(f"/proc/{child.pid}/status") as file:
            peak = max([peak] + [int(line.split()[1]) for line in file if line.startswith("RssAnon")])
        time.sleep(0.002)
    return peak, child.returncode
