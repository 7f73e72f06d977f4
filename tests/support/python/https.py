"""An HTTPS server on this machine, with a certificate of its own: CA is the file to trust."""
import atexit
import http.server
import os
import shutil
import ssl
import subprocess
import tempfile
import threading

HOME = tempfile.mkdtemp(prefix="turnstone-test-https-")
atexit.register(shutil.rmtree, HOME, ignore_errors=True)
CA = os.path.join(HOME, "ca.pem")
KEY = os.path.join(HOME, "key.pem")
subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", KEY, "-out", CA,
                "-days", "2", "-subj", "/CN=server", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)


class Answering(http.server.BaseHTTPRequestHandler):
    """A handler of requests, which logs nothing. A subclass answers with say()."""
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # sends the body at once after the headers

    def log_message(self, *_):
        pass

    def say(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def say_without_end(self):
        self.send_response(200)
        self.end_headers()
        try:
            while True:
                self.wfile.write(b"x" * 65536)
        except OSError:
            self.close_connection = True

    def say_garbage(self):
        self.wfile.write(b"\x00\x01garbage\r\n\r\n" * 20)
        self.close_connection = True

    def drop(self):
        self.close_connection = True
        self.connection.close()


class Server(http.server.ThreadingHTTPServer):
    """Serves inside a `with` block. `asked` has the requests that were received."""
    daemon_threads = True

    def __init__(self, answering):
        super().__init__(("127.0.0.1", 0), answering)
        self.asked = []

    def handle_error(self, *_):  # ignore clients that close the connection early
        pass

    def __enter__(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CA, KEY)
        self.socket = context.wrap_socket(self.socket, server_side=True)
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


def without_proxy():
    """Returns the environment without its settings of proxies."""
    return {k: v for k, v in os.environ.items() if k.lower() not in ("https_proxy", "all_proxy")}
