"""Running the program under test, which is the first argument of the test."""
import os
import subprocess
import sys

PROGRAM = os.path.abspath(sys.argv[1])


class Result:
    def __init__(self, done):
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr

    def __repr__(self):
        return f"status {self.status}\nstdout: {self.out[-2000:]}\nstderr: {self.err[-2000:]}"


def run(*arguments, stdin="", env=None, **options):
    """Variables in env are added; None takes one away."""
    environment = dict(os.environ)
    for name, value in (env or {}).items():
        environment.pop(name, None)
        if value is not None:
            environment[name] = value
    options.setdefault("stdout", subprocess.PIPE)
    done = subprocess.run([PROGRAM, *arguments], input=stdin, stderr=subprocess.PIPE, text=True, timeout=300,
                          env=environment, **options)
    return Result(done)


def answers(expected, *arguments, **options):
    """The program ends well, prints exactly this, and says nothing on standard error."""
    result = run(*arguments, **options)
    if (result.status, result.out, result.err) != (0, expected, ""):
        raise AssertionError(f"{arguments}: expected {expected!r}, found {result}")


def complains(status, expected, *arguments, **options):
    """The program ends with this status and one line on standard error that has all the expected parts."""
    result = run(*arguments, **options)
    parts = [expected] if isinstance(expected, str) else expected
    one_line = result.err.startswith("turnstone: ") and result.err.count("\n") == 1 and result.err.endswith("\n")
    if result.status != status or not one_line or not all(part in result.err for part in parts):
        raise AssertionError(f"{arguments}: expected status {status} and {parts}, found {result}")
    return result
