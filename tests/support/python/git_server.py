"""A git server over HTTPS for tests: `git http-backend` behind a server with a certificate of a test authority; and paths at which it is
slow, wrong or hostile. The first part of a path says how it answers:

    /git/NAME      as it should                       /moved/NAME     redirects to /git/NAME on the same host
    /auth/NAME     asks for USER and PASSWORD         /gone/NAME      404
    /limited/NAME  429 with Retry-After, once         /denied/NAME    403
    /throttled/N   429 with Retry-After, always       /broken/NAME    503
    /hang/NAME     does not answer                    /trickle/NAME   one byte at a time, without an end
    /endless/NAME  a pack without an end              /cut/NAME       half a pack
    /tofile/NAME   redirects to file://               /toext/NAME     redirects to ext::, a command
    /bomb/NAME     a small pack with a huge object    /dumb/NAME      a server without git: one request for each object
    /claims/NAME   claims, in every way that a server has, that the disk is full
    /page/NAME     a page for people, with status 200       /blank/NAME    status 200 and nothing else
    /unlawful/NAME 451                                      /late/NAME     408
"""
import base64
import http.server
import os
import random
import ssl
import struct
import subprocess
import threading
import time
import zlib

USER, PASSWORD = "ada", "pass-word-of-ada"
RETRY_AFTER_S = 2
STATUS = {"gone": 404, "denied": 403, "broken": 503, "unlawful": 451, "late": 408}


def make_certificates(folder):
    """Makes a test authority, and a certificate that it issues for localhost."""
    os.makedirs(folder, exist_ok=True)

    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    new_key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl("req", "-x509", *new_key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=test authority")
    openssl("req", *new_key, "-keyout", "host.key", "-out", "host.csr", "-subj", "/CN=localhost")
    with open(os.path.join(folder, "host.ext"), "w") as file:
        file.write("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    openssl("x509", "-req", "-in", "host.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", "host.pem", "-days", "2",
            "-extfile", "host.ext")
    return os.path.abspath(os.path.join(folder, "ca.pem"))


def packet(text):
    data = text if isinstance(text, bytes) else text.encode()
    return b"%04x" % (len(data) + 4) + data


def pack_pieces():
    """Yields the pieces of a pack without an end: contents of random bytes."""
    source = random.Random(1)
    yield b"PACK" + struct.pack(">II", 2, 1000000)
    while True:
        content = source.randbytes(60000)
        size, head = len(content) >> 4, [0x30 | len(content) & 15]
        while size:
            head[-1] |= 0x80
            head.append(size & 0x7f)
            size >>= 7
        yield bytes(head) + zlib.compress(content, 0)


BOMB = 96 << 20


def bomb_pieces():
    """Yields the pieces of a pack with one tree of zeros. The pack is a thousandth of the size of the tree."""
    size, head = BOMB >> 4, [0x20 | BOMB & 15]
    while size:
        head[-1] |= 0x80
        head.append(size & 0x7f)
        size >>= 7
    yield b"PACK" + struct.pack(">II", 2, 1) + bytes(head)
    compressor = zlib.compressobj(1)
    for _ in range(BOMB >> 20):
        yield compressor.compress(bytes(1 << 20))
    yield compressor.flush()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Otherwise the body of an answer waits up to 40 ms for the client's acknowledgement of the headers.
    disable_nagle_algorithm = True

    def log_message(self, *arguments):
        pass

    def answer(self, status, headers=(), body=b""):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def backend(self, path, body):
        """Returns what git http-backend answers: status, headers, body."""
        path, _, query = path.partition("?")
        environment = {**os.environ, "GIT_PROJECT_ROOT": self.server.root, "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path,
                       "QUERY_STRING": query, "REQUEST_METHOD": self.command, "CONTENT_LENGTH": str(len(body)),
                       "CONTENT_TYPE": self.headers.get("Content-Type", ""), "HTTP_GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
                       "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""), "REMOTE_ADDR": "127.0.0.1",
                       "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
        done = subprocess.run(["git", "http-backend"], input=body, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment,
                              check=False)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = [tuple(line.decode().split(": ", 1)) for line in head.split(b"\r\n") if line]
        status = int(dict(headers).get("Status", "200").split()[0])
        return status, [one for one in headers if one[0] != "Status"], content

    def stream(self, pieces):
        """Sends the pieces of a pack on band 1, as the answer to a fetch."""
        self.send_response(200)
        self.send_header("Content-Type", "application/x-git-upload-pack-result")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        self.wfile.write(packet("packfile\n"))
        for piece in pieces:
            for at in range(0, len(piece), 60000):
                self.wfile.write(packet(b"\x01" + piece[at:at + 60000]))

    def send_file(self, path):
        """Sends a file as a server without git does, and slowly."""
        if "/objects/" in path:
            time.sleep(0.05)
        try:
            with open(self.server.root + "/" + path.partition("?")[0], "rb") as file:
                self.answer(200, body=file.read())
        except OSError:
            self.answer(404)

    def hang(self, trickle):
        if trickle:
            self.send_response(200)
            self.send_header("Content-Type", "application/x-git-upload-pack-advertisement")
            self.end_headers()
        while not self.server.is_over:
            if trickle:
                self.wfile.write(b"0")
            time.sleep(0.1)
        self.close_connection = True

    def read_body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", "0")))
        pieces = []
        while size := int(self.rfile.readline(), 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)

    def handle_one(self):
        body = self.read_body()
        how, _, rest = self.path[1:].partition("/")
        how = self.server.instead or how
        self.server.asked.append((how, rest.partition("/")[0], time.monotonic()))
        is_fetch = b"command=fetch" in body
        if how == "auth":
            wanted = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
            if self.headers.get("Authorization") != wanted:
                self.answer(401, [("WWW-Authenticate", 'Basic realm="git"')])
                return
        if how in ("throttled", "limited") and (how == "throttled" or not self.server.was_limited):
            self.server.was_limited = self.server.was_limited or how == "limited"
            self.answer(429, [("Retry-After", str(RETRY_AFTER_S if how == "limited" else 3600))])
        elif how == "moved":
            self.answer(302, [("Location", f"{self.server.url}/git/{rest}")])
        elif how in ("tofile", "toext"):
            there = f"file:///{rest}" if how == "tofile" else "ext::sh -c touch% pwned"
            self.answer(302, [("Location", there)])
        elif how in STATUS:
            self.answer(STATUS[how])
        elif how in ("page", "blank"):
            self.answer(200, [("Content-Type", "text/html")], b"<html>\n<p>Please log in</p>\n</html>\n" if how == "page" else b"")
        elif how in ("hang", "trickle"):
            self.hang(how == "trickle")
        elif how == "claims":
            words = "No space left on device"
            self.answer(200, [("Content-Type", "application/x-git-upload-pack-advertisement"), ("X-Note", words)],
                        packet("# service=git-upload-pack\n") + b"0000" + packet(f"ERR {words}\nfatal: {words}\n"))
        elif how in ("endless", "cut", "bomb") and is_fetch:
            pieces = pack_pieces()
            self.stream(bomb_pieces() if how == "bomb" else pieces if how == "endless" else [next(pieces), next(pieces)])
        elif how == "dumb":
            self.send_file(rest)
        else:
            self.answer(*self.backend("/" + rest, body))

    def do_GET(self):
        try:
            self.handle_one()
        except OSError:
            self.close_connection = True  # the client has gone

    do_POST = do_GET


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    instead = None  # if set, how to answer every request, whatever its path

    def handle_error(self, request, client_address):
        pass


class GitServer:
    """Serves the bare repositories of a folder. Use it with `with`."""

    def __init__(self, root, certificates="certificates"):
        self.ca = make_certificates(certificates)
        self.server = Server(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(os.path.join(certificates, "host.pem"), os.path.join(certificates, "host.key"))
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.host = f"localhost:{self.server.server_port}"
        self.url = self.server.url = f"https://{self.host}"
        self.server.root = os.path.abspath(root)
        self.server.asked = self.asked = []  # for every request: how it was answered, the name and the time
        self.server.is_over = self.server.was_limited = False
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *why):
        self.server.is_over = True
        self.server.shutdown()
        self.server.server_close()
