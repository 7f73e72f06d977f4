"""A real browser, driven through its debugging protocol over a pair of pipes: nothing but Chromium and Python is needed.

    with tab() as browser:
        browser.open("file:///tmp/page.html")
        browser.ask("document.title")

One process serves all tests of a file, each with a tab of its own.

`requests` has every address that a page requested. `complaints` has the console output of the browser and the
page, including refused scripts. `dialogs` has the text of every alert. An attack of a hostile page would
appear there.
"""
import atexit
import base64
import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
import time


_browser = None


def pipe():
    """Returns the two ends of a pipe. Their numbers are above those that the browser uses, and the browser inherits neither."""
    ends = []
    for fd in os.pipe():
        ends.append(fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 20))
        os.close(fd)
    return ends


@contextlib.contextmanager
def tab():
    global _browser
    if _browser is None:
        _browser = Browser()
        atexit.register(_browser.end)
    _browser.begin_tab()
    try:
        yield _browser
    finally:
        _browser.end_tab()


class Browser:
    def __init__(self, timeout_s=60):
        self.requests, self.complaints, self.dialogs = [], [], []
        self._number, self._rest, self._loaded, self._session = 0, b"", False, None
        self._timeout_s = timeout_s
        # The browser makes sockets in TMPDIR, and their paths must be short.
        self._profile = tempfile.mkdtemp(prefix="browser.", dir="/tmp")
        child_reads, self._to = pipe()
        self._from, child_writes = pipe()

        def numbers():  # Chromium reads descriptor 3 and writes descriptor 4
            os.dup2(child_reads, 3)
            os.dup2(child_writes, 4)

        self._log = open(os.path.join(self._profile, "log"), "wb")
        self._process = subprocess.Popen(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync",
             f"--user-data-dir={self._profile}", "--remote-debugging-pipe", "about:blank"],
            close_fds=False, preexec_fn=numbers, env={**os.environ, "TMPDIR": self._profile}, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log)
        os.close(child_reads)
        os.close(child_writes)

    def end(self):
        self._process.kill()
        self._process.wait()
        self._log.close()
        shutil.rmtree(self._profile, ignore_errors=True)

    def begin_tab(self):
        self.requests, self.complaints, self.dialogs = [], [], []
        self._target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=self._target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self._call(f"{domain}.enable")

    def end_tab(self):
        self._session = None
        self._call("Target.closeTarget", targetId=self._target)

    def _receive(self):
        while b"\0" not in self._rest:
            part = os.read(self._from, 1 << 20)
            if not part:
                raise AssertionError("the browser went away: " + self.log())
            self._rest += part
        message, self._rest = self._rest.split(b"\0", 1)
        return json.loads(message)

    def log(self):
        with open(self._log.name, encoding="utf-8", errors="replace") as file:
            return file.read()[-2000:]

    def _note(self, message):
        method, values = message.get("method"), message.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(values["request"]["url"])
        elif method == "Log.entryAdded":
            self.complaints.append(values["entry"]["text"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(values["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append(json.dumps(values["args"]))
        elif method == "Page.javascriptDialogOpening":
            self.dialogs.append(values["message"])
            self._send("Page.handleJavaScriptDialog", accept=True)
        elif method == "Page.loadEventFired":
            self._loaded = True

    def _send(self, method, **values):
        self._number += 1
        message = {"id": self._number, "method": method, "params": values}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._to, data):]
        return self._number

    def _call(self, method, **values):
        number, until = self._send(method, **values), time.monotonic() + self._timeout_s
        while time.monotonic() < until:
            message = self._receive()
            if message.get("id") == number:
                if "error" in message:
                    raise AssertionError(f"{method}: {message['error']}")
                return message["result"]
            self._note(message)
        raise AssertionError(f"{method}: no answer in {self._timeout_s} s")

    def without_scripts(self):
        self._call("Emulation.setScriptExecutionDisabled", value=True)

    def media(self, **features):
        self._call("Emulation.setEmulatedMedia", features=[{"name": n.replace("_", "-"), "value": v} for n, v in features.items()])

    def size(self, width, height):
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def open(self, address):
        self._loaded = False
        self._call("Page.navigate", url=address)
        while not self._loaded:
            self._note(self._receive())

    def ask(self, expression):
        """Returns the value of an expression in the page. If the value is a promise, waits for its result."""
        answer = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def outline(self):
        """Returns the content of a page without its scripts: the accessibility tree, which screen readers use."""
        nodes = self._call("Accessibility.getFullAXTree")["nodes"]
        return [(node.get("role", {}).get("value"), node.get("name", {}).get("value")) for node in nodes if not node["ignored"]]

    def picture(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self._call("Page.captureScreenshot", format="png")["data"]))
