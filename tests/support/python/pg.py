"""Real PostgreSQL servers for tests, from the distribution's package, on loopback ports of their own.

    with Server(max_prepared_transactions=10) as server:
        server.create("a")
        url = server.url("a")
        server.kill(); server.resume()
        with server.standby() as standby:
            standby.sql("postgres", "SELECT pg_wal_replay_pause()")

A server that the package itself has started is never touched. Every server ends with this process, however the process
ends.
"""
import atexit
import ctypes
import glob
import os
import pwd
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time

USER = "turnstone"
LOCKED_USER = "locked"  # the user that needs the password that a test sets
_PR_SET_PDEATHSIG = 1
_template = None


def _binaries():
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"))
    if found:
        return os.path.dirname(found[-1])
    return subprocess.run(["pg_config", "--bindir"], check=True, capture_output=True, text=True).stdout.strip()


def _server_user():
    """Returns the options that run a program as another user if this user is root. The server refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            user = pwd.getpwnam(name)
            return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        except KeyError:
            pass
    raise RuntimeError("there is neither a user postgres nor nobody to run a server as")


def reachable(folder):
    """Returns whether users other than root can reach the folder; always true if the test does not run as
    root."""
    while True:
        if os.geteuid() == 0 and not os.stat(folder).st_mode & stat.S_IXOTH:
            return False
        if folder == "/":
            return True
        folder = os.path.dirname(folder)


def _end_with_parent():
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGQUIT)


def _make_template():
    """Runs initdb once. It takes most of a second, so its result is copied for each server."""
    global _template
    if _template:
        return _template
    tmp = os.environ.get("TMPDIR", "/tmp")
    if os.geteuid() == 0 and os.path.realpath(tmp) != "/tmp":
        os.chmod(tmp, 0o711)  # the test's own folder, so its mode may be changed
    base = tempfile.mkdtemp(prefix="pg-", dir=tmp if reachable(os.path.realpath(tmp)) else "/tmp")
    atexit.register(shutil.rmtree, base, ignore_errors=True)
    os.chmod(base, 0o711)
    user = _server_user()
    if user:
        os.chown(base, user["user"], user["group"])
    data = os.path.join(base, "template")
    subprocess.run([os.path.join(_binaries(), "initdb"), "-D", data, "-U", USER, "-A", "trust", "-E", "UTF8", "--no-locale",
                    "-N"], check=True, stdout=subprocess.DEVNULL, cwd="/", **user)
    with open(os.path.join(data, "pg_hba.conf"), "w") as file:
        file.write(f"host all {LOCKED_USER} 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n"
                   f"host replication {USER} 127.0.0.1/32 trust\n")
    _template = data
    return data


def _free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Server:
    _count = 0

    def __init__(self, max_prepared_transactions=0, max_connections=100, fsync=True, settings=""):
        template = _make_template()
        Server._count += 1
        self.folder = os.path.join(os.path.dirname(template), str(Server._count))
        subprocess.run(["cp", "-a", template, self.folder], check=True)
        self.port = _free_port()
        self.process = None
        self.configure(f"listen_addresses = '127.0.0.1'\nport = {self.port}\nunix_socket_directories = ''\n"
                       f"max_prepared_transactions = {max_prepared_transactions}\nmax_connections = {max_connections}\n"
                       f"fsync = {'on' if fsync else 'off'}\nshared_buffers = 32MB\nlog_min_messages = fatal\n{settings}\n")
        atexit.register(self.stop)
        self.resume()

    def standby(self):
        """Returns a standby, which streams from this server and can be read. It reports every second how much it has
        replayed."""
        other = Server.__new__(Server)
        Server._count += 1
        other.folder = os.path.join(os.path.dirname(self.folder), str(Server._count))
        other.port = _free_port()
        other.process = None
        subprocess.run([os.path.join(_binaries(), "pg_basebackup"), "-h", "127.0.0.1", "-p", str(self.port), "-U", USER, "-D",
                        other.folder, "-R", "-X", "stream", "-c", "fast"], check=True, cwd="/", **_server_user())
        other.configure(f"port = {other.port}\nhot_standby = on\nwal_receiver_status_interval = 1s\nwal_retrieve_retry_interval = 200ms\n")
        atexit.register(other.stop)
        other.resume()
        return other

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def configure(self, settings):
        """Changes the settings. They apply from the next start."""
        with open(os.path.join(self.folder, "postgresql.conf"), "a") as file:
            file.write(settings + "\n")

    def start(self):
        """Starts the server with its existing files, without waiting until it answers. The server ends with the thread that has started it."""
        with open(self.folder + ".log", "a") as log:
            self.process = subprocess.Popen([os.path.join(_binaries(), "postgres"), "-D", self.folder], cwd="/",
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            preexec_fn=_end_with_parent, **_server_user())

    def resume(self):
        """Starts the server, and waits until it answers."""
        self.start()
        self.wait()

    def wait(self):
        for _ in range(3000):
            if self._psql("postgres", "SELECT 1").returncode == 0:
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        with open(self.folder + ".log") as log:
            raise RuntimeError("the PostgreSQL server did not start:\n" + log.read())

    def kill(self):
        """Ends all processes of the server at once, as a crash would (-m immediate)."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait()
        self.process = None

    def stop(self):
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database="postgres", user=USER):
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def _psql(self, database, sql):
        return subprocess.run([os.path.join(_binaries(), "psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h",
                               "127.0.0.1", "-p", str(self.port), "-U", USER, "-c", sql, database],
                              capture_output=True, text=True)

    def sql(self, database, sql):
        """Runs SQL as the administrator. Returns what psql prints, without headings."""
        done = self._psql(database, sql)
        if done.returncode != 0:
            raise AssertionError(f"{sql}: {done.stderr}")
        return done.stdout.strip()

    def create(self, *databases):
        for database in databases:
            self.sql("postgres", f"CREATE DATABASE {database}")


def client(name, server, *words, stdin=None):
    """Runs one of PostgreSQL's programs on the server. Returns what it prints, as bytes."""
    done = subprocess.run([os.path.join(_binaries(), name), "-h", "127.0.0.1", "-p", str(server.port), "-U", USER, *words], input=stdin,
                          capture_output=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{name}: {done.stderr}")
    return done.stdout


class Pair:
    """A primary and its synchronous standby, as one store: every commit is on both servers."""

    def __init__(self, **options):
        self.primary = Server(**options)
        self.standby = self.primary.standby()
        self.primary.sql("postgres", "ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.primary.sql("postgres", "SELECT pg_reload_conf()")
        self.hosts = [self.primary, self.standby]
        self.create, self.kill, self.start, self.wait = (getattr(self.primary, name) for name in ("create", "kill", "start", "wait"))

    def url(self, database):
        hosts = ",".join(f"127.0.0.1:{server.port}" for server in self.hosts)
        return f"postgresql://{USER}@{hosts}/{database}"

    def fail_over(self):
        """Kills the primary, and promotes the standby in its place."""
        self.primary.kill()
        self.standby.sql("postgres", "SELECT pg_promote()")
        self.kill, self.start, self.wait = self.standby.kill, self.standby.start, self.standby.wait

    def stop(self):
        for server in self.hosts:
            server.stop()
