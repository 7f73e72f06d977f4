"""An sshd for tests, with its own keys and port. Its users can run only git."""
import os
import shutil
import socket
import subprocess
import time

from tap import Skip, holds

SSHD = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


class SshServer:
    """A server for a `with` block. `key` may log in, `other_key` may not."""

    def __init__(self, folder="ssh", banner="", hangs=False):
        if SSHD is None or shutil.which("ssh") is None:
            raise Skip("needs openssh-server and openssh-client")
        self.folder = os.path.abspath(folder)
        os.makedirs(self.folder)
        for name in ("host", "key", "other_key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.at(name)], check=True)
        self.key, self.other_key = self.at("key"), self.at("other_key")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        with open(self.at("host.pub")) as file:
            host_key = " ".join(file.read().split()[:2])
        self.known_hosts = self.at("known_hosts")
        with open(self.known_hosts, "w") as file:
            file.write(f"[localhost]:{self.port} {host_key}\n")
        with open(self.at("key.pub")) as file:
            allowed = file.read()
        command = f"printf '%s\\n' '{banner}' >&2; " if banner else "exec sleep 1000; " if hangs else ""
        with open(self.at("authorized"), "w") as file:
            file.write(f'command="{command}git shell -c \\"$SSH_ORIGINAL_COMMAND\\"" {allowed}')
        with open(self.at("config"), "w") as file:
            file.write(f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {self.at('host')}\nPidFile none\nStrictModes no\n"
                       f"AuthorizedKeysFile {self.at('authorized')}\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
                       "UsePAM no\nPermitRootLogin prohibit-password\nLogLevel QUIET\n")

    def at(self, name):
        return os.path.join(self.folder, name)

    def address(self, path):
        user = subprocess.run(["id", "-un"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        return f"ssh://{user}@localhost:{self.port}{os.path.abspath(path)}"

    def __enter__(self):
        os.makedirs("/run/sshd", exist_ok=True) if os.geteuid() == 0 else None
        self.process = subprocess.Popen([SSHD, "-D", "-f", self.at("config")], stderr=subprocess.DEVNULL)
        end = time.monotonic() + 20
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return self
            except OSError:
                holds(self.process.poll() is None and time.monotonic() < end, "sshd does not start")
                time.sleep(0.02)

    def __exit__(self, *why):
        self.process.terminate()
        self.process.wait()
