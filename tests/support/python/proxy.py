"""A proxy in front of a server on this machine. It loses replies: the server carries out the request, but the
proxy ends the connection instead of passing the answer to the client. It can also lose requests: a request
that contains a given word is not passed to the server, and the proxy ends the connection."""
import selectors
import socket
import threading


class Proxy:
    def __init__(self, server_port, lose_one_in=None, spared=200, swallow=None):
        """Loses every n-th piece that the server sends, except the first `spared` pieces, because opening stores and
        reading them is not repeated. Of the pieces that the client sends, loses those that contain the bytes
        `swallow`."""
        self.server_port, self.lose_one_in, self.spared, self.swallow = server_port, lose_one_in, spared, swallow
        self.pieces = self.lost = 0
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.peers = {}  # for each socket: (the other side's socket, whether this socket is the server's)
        self.events = selectors.DefaultSelector()
        self.ending, self.awake = socket.socketpair()
        self.events.register(self.listener, selectors.EVENT_READ)
        self.events.register(self.awake, selectors.EVENT_READ)
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ending.send(b"!")
        self.thread.join()

    def url(self, database, user):
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def _accept(self):
        client, _ = self.listener.accept()
        try:
            server = socket.create_connection(("127.0.0.1", self.server_port))
        except OSError:
            client.close()
            return
        for one, other, is_server in ((client, server, False), (server, client, True)):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.peers[one] = (other, is_server)
            self.events.register(one, selectors.EVENT_READ)

    def _close(self, one):
        other, _ = self.peers[one]
        for end in (one, other):
            del self.peers[end]
            self.events.unregister(end)
            end.close()

    def _pass_on(self, one):
        other, is_server = self.peers[one]
        try:
            data = one.recv(65536)
            if data and is_server:
                self.pieces += 1
                if self.lose_one_in and self.pieces > self.spared and self.pieces % self.lose_one_in == 0:
                    self.lost += 1
                    data = b""
            elif self.swallow and self.swallow in data:
                self.lost += 1
                data = b""
            if data:
                other.sendall(data)
                return
        except OSError:
            pass
        self._close(one)

    def _serve(self):
        while True:
            for key, _ in self.events.select():
                if key.fileobj is self.awake:
                    for one in list(self.peers):
                        if one in self.peers:
                            self._close(one)
                    self.listener.close()
                    return
                if key.fileobj is self.listener:
                    self._accept()
                elif key.fileobj in self.peers:
                    self._pass_on(key.fileobj)
