"""Answers one connection while no server is serving."""
import socket
import time

# Limits for the bytes and the time of a request, before and after the response.
HEAD_LIMIT_BYTES = 16_384
HEAD_SECONDS = 1
REST_LIMIT_BYTES = 262_144
REST_SECONDS = 1


class Visitor:
    """A client that is told that the server is down. Nothing that it sends is stored or forwarded."""

    def __init__(self, holder, connection):
        self.holder = holder
        self.connection = connection
        self.head = b""
        self.rest_bytes = None
        self.deadline = time.monotonic() + HEAD_SECONDS

    def read(self):
        try:
            read = self.connection.recv(65_536)
        except BlockingIOError:
            return
        except OSError:
            read = b""
        if read == b"":
            self.leave()
        elif self.rest_bytes is not None:
            self.rest_bytes += len(read)
            if self.rest_bytes > REST_LIMIT_BYTES:
                self.leave()
        else:
            self.head += read
            if b"\r\n\r\n" in self.head or len(self.head) > HEAD_LIMIT_BYTES:
                self.tell()

    def tell(self):
        """Keeps reading for a moment, because closing with unread bytes could discard the response."""
        head, _, body = self.holder.order["answer"].encode().partition(b"\r\n\r\n")
        try:
            self.connection.send(head + b"\r\n\r\n" + (b"" if self.head.startswith(b"HEAD ") else body))
            self.connection.shutdown(socket.SHUT_WR)
        except OSError:
            self.leave()
            return
        self.head = b""
        self.rest_bytes = 0
        self.deadline = time.monotonic() + REST_SECONDS

    def time_out(self):
        if self.rest_bytes is None and self.head:
            self.tell()
        else:
            self.leave()

    def leave(self):
        if self.holder.visitors.pop(self.connection, None) is not None:
            self.holder.watched.unregister(self.connection)
            self.connection.close()
