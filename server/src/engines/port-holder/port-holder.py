"""Holds the listening sockets of the server's port, so that no other program can take the port while the server is away.

  port-holder.py hold <order>   takes the sockets over from a previous holder, or binds them; gives them to the server
  port-holder.py end <order>    ends the holder of a data directory

The order is JSON (`port-holder.ts`). `hold` is a child of the server, in a session of its own, and outlives it. The two
talk over the channel that Node opens for a child: one JSON object for each line, sockets as SCM_RIGHTS. Its end is the end
of the server. While no server serves, the holder answers every request itself, with the answer in its order. It ends
when there is no server and no runner of the data directory (`runner.mjs`), because then no program of a tenant is left.

The next holder reaches this one by a Unix socket in the data directory, which is open to the same user only. Every
version understands `{"do": "end"}` there; a holder hands its sockets over only to its own version and for the same address.
"""
import array
import errno
import json
import os
import selectors
import signal
import socket
import struct
import sys
import time

VERSION = 1
CONTROL = "port-holder.sock"
BACKLOG = 511
CONTROL_SECONDS = 3
LOOK_EVERY_SECONDS = 1
# How much of a visitor is read, and how long it is waited for, before and after the answer.
MOST_VISITORS = 256
HEAD_LIMIT_BYTES = 16_384
HEAD_SECONDS = 1
REST_LIMIT_BYTES = 262_144
REST_SECONDS = 1


def main():
    order = json.loads(sys.argv[2])
    if sys.argv[1] == "end":
        previous = connect(order["folder"])
        if previous is not None:
            dismiss(previous)
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    channel = socket.socket(fileno=int(os.environ["NODE_CHANNEL_FD"]))
    channel.setblocking(True)
    count = order["inherited"]
    try:
        # First, because a full disk must not part a previous holder from its sockets.
        control = open_control(order["folder"])
        listeners = [socket.socket(fileno=channel.fileno() + 1 + n) for n in range(count)] or acquire(order)
        publish_control(order["folder"])
    except OSError as error:
        tell(channel, {"failed": describe(error)})
        withdraw_control(order["folder"])
        return
    if count == 0:
        for listener in listeners:
            hand_to_node(channel, listener)
    tell(channel, {"holds": True})
    Holder(order, channel, control, listeners).run()


# ---- getting the sockets ----


def acquire(order):
    previous = connect(order["folder"])
    if previous is None:
        return bind_all(order)
    try:
        previous.sendall(line(hand_over_request(order)))
        said, descriptors, _, _ = socket.recv_fds(previous, 65_536, 8)
        listeners = [socket.socket(fileno=descriptor) for descriptor in descriptors]
        if listeners and json.loads(said) == {"version": VERSION, "handed": len(listeners)}:
            previous.sendall(b"taken\n")
            wait_until_gone(previous)
            return listeners
        for listener in listeners:
            listener.close()
    except (OSError, ValueError):
        pass
    dismiss(previous)
    return bind_all(order, patience=2)


def hand_over_request(order):
    return {"version": VERSION, "do": "hand-over", "places": order["places"], "port": order["port"]}


def bind_all(order, patience=0):
    """The first place is needed. The others may be of an address family that this machine does not have."""
    deadline = time.monotonic() + patience
    listeners = []
    for place in order["places"]:
        while True:
            try:
                listeners.append(bind(place, order["port"]))
            except OSError as error:
                if listeners and error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                    break
                if error.errno == errno.EADDRINUSE and time.monotonic() < deadline:
                    time.sleep(0.02)
                    continue
                error.filename = place["host"]
                raise
            break
    return listeners


def bind(place, port):
    family, kind, protocol, _, address = socket.getaddrinfo(place["host"], port, type=socket.SOCK_STREAM)[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(place["ipv6Only"]))
        listener.bind(address)
        listener.listen(BACKLOG)
        return listener
    except OSError:
        listener.close()
        raise


def describe(error):
    if isinstance(error, socket.gaierror):
        code = "EAI_AGAIN" if error.errno == socket.EAI_AGAIN else "ENOTFOUND"
    else:
        code = errno.errorcode.get(error.errno, "EIO")
    return {"code": code, "address": error.filename, "message": error.strerror}


# ---- talking ----


def line(message):
    return json.dumps(message).encode() + b"\n"


def tell(channel, message):
    try:
        channel.sendall(line(message))
    except OSError:
        pass  # the server has gone: the end of the channel tells


def hand_to_node(channel, listener):
    """In the form in which a Node process sends a handle to its parent; `port-holder.test.ts` notices a change of it."""
    rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [listener.fileno()]))
    try:
        channel.sendmsg([line({"cmd": "NODE_HANDLE", "type": "net.Native", "msg": {"socket": True}})], [rights])
    except OSError:
        pass  # as above


def in_folder(folder, work):
    """The address of a Unix socket is at most 107 bytes long, so the name alone is used."""
    os.chdir(folder)
    try:
        return work()
    finally:
        os.chdir("/")


def own_control():
    return f"{CONTROL}.{os.getpid()}"


def open_control(folder):
    def make():
        os.umask(0o177)
        control = socket.socket(socket.AF_UNIX)
        control.bind(own_control())
        control.listen(8)
        return control

    return in_folder(folder, make)


def publish_control(folder):
    in_folder(folder, lambda: os.rename(own_control(), CONTROL))


def withdraw_control(folder):
    try:
        in_folder(folder, lambda: os.unlink(own_control()))
    except OSError:
        pass


def connect(folder):
    def attempt():
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(CONTROL_SECONDS)
        connection.connect(CONTROL)
        return connection

    try:
        return in_folder(folder, attempt)
    except OSError:
        return None  # there is none, or it has ended


def peer_of(connection):
    """The pid and the uid of the other side; None where the system does not tell: there the file's mode has to do."""
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    size = struct.calcsize("3i")
    pid, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return pid, uid


def dismiss(holder):
    try:
        holder.sendall(line({"do": "end"}))
    except OSError:
        pass
    wait_until_gone(holder)


def wait_until_gone(holder):
    if reads_end(holder):
        return
    peer = peer_of(holder)
    if peer is not None and peer[0] > 1:
        os.kill(peer[0], signal.SIGKILL)
        reads_end(holder)


def reads_end(connection):
    deadline = time.monotonic() + CONTROL_SECONDS
    try:
        while time.monotonic() < deadline:
            connection.settimeout(max(0.01, deadline - time.monotonic()))
            if connection.recv(65_536) == b"":
                return True
    except ConnectionError:
        return True
    except OSError:
        pass
    return False


# ---- holding ----


class Holder:
    def __init__(self, order, channel, control, listeners):
        self.order = order
        self.channel = channel
        self.control = control
        self.listeners = listeners
        self.heard = b""
        self.visitors = {}
        self.is_answering = False
        self.is_retired = False
        self.watched = selectors.DefaultSelector()

    def run(self):
        self.watched.register(self.channel, selectors.EVENT_READ, self.hear)
        self.watched.register(self.control, selectors.EVENT_READ, self.obey)
        self.answer(True)
        while True:
            for key, _ in self.watched.select(self.pause()):
                key.data()
            now = time.monotonic()
            for visitor in [each for each in self.visitors.values() if each.deadline <= now]:
                visitor.time_is_over()
            if self.is_retired:
                if not self.visitors:
                    self.end()
            elif self.channel is None and not runners_live(self.order["runners"]):
                self.end()

    def pause(self):
        deadlines = [visitor.deadline for visitor in self.visitors.values()]
        if self.channel is None or self.is_retired:
            deadlines.append(time.monotonic() + LOOK_EVERY_SECONDS)
        return max(0, min(deadlines) - time.monotonic()) if deadlines else None

    def end(self):
        for listener in self.listeners:
            listener.close()
        os._exit(0)

    def retire(self):
        """Another one has the sockets. Those who are here already still get their answer."""
        self.answer(False)
        self.is_retired = True
        for listener in self.listeners:
            listener.close()
        self.watched.unregister(self.control)
        self.control.close()

    def answer(self, is_answering):
        if is_answering == self.is_answering:
            return
        self.is_answering = is_answering
        for listener in self.listeners:
            if is_answering:
                listener.setblocking(False)
                self.watched.register(listener, selectors.EVENT_READ, lambda listener=listener: self.admit(listener))
            else:
                self.watched.unregister(listener)

    def hear(self):
        """The server says whether it serves, and that it is about to leave."""
        try:
            heard = self.channel.recv(65_536)
        except OSError:
            heard = b""
        if heard == b"":
            self.watched.unregister(self.channel)
            self.channel = None
            self.answer(True)
            return
        *lines, self.heard = (self.heard + heard).split(b"\n")
        for message in map(json.loads, lines):
            if "serve" in message:
                self.answer(not message["serve"])
                tell(self.channel, {"serving": message["serve"]})
            elif "leave" in message:
                if not runners_live(self.order["runners"]):
                    self.end()
                tell(self.channel, {"stays": True})

    def obey(self):
        """A holder that takes over, or a stop of everything."""
        connection, _ = self.control.accept()
        with connection:
            peer = peer_of(connection)
            if peer is not None and peer[1] != os.getuid():
                return
            connection.settimeout(CONTROL_SECONDS)
            try:
                with connection.makefile("rb") as lines:
                    self.obey_request(connection, lines)
            except (OSError, ValueError):
                pass

    def obey_request(self, connection, lines):
        request = json.loads(lines.readline(65_536))
        if request == hand_over_request(self.order):
            handed = line({"version": VERSION, "handed": len(self.listeners)})
            socket.send_fds(connection, [handed], [listener.fileno() for listener in self.listeners])
            if lines.readline(64) == b"taken\n":
                self.retire()
            return
        if request.get("do") != "end":
            connection.sendall(line({"version": VERSION, "handed": 0}))
            request = json.loads(lines.readline(65_536))
        if request.get("do") == "end":
            self.end()

    def admit(self, listener):
        if not self.is_answering:
            return  # the server has begun to serve in the meantime
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        connection.setblocking(False)
        if len(self.visitors) >= MOST_VISITORS:
            next(iter(self.visitors.values())).leave()
        visitor = Visitor(self, connection)
        self.visitors[connection] = visitor
        self.watched.register(connection, selectors.EVENT_READ, visitor.read)


class Visitor:
    """A connection that is told that the server is away. Nothing that it sends is kept or repeated."""

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
        """What follows is read for a moment: closed with unread bytes, the answer could be lost on its way."""
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

    def time_is_over(self):
        if self.rest_bytes is None and self.head:
            self.tell()
        else:
            self.leave()

    def leave(self):
        if self.holder.visitors.pop(self.connection, None) is not None:
            self.holder.watched.unregister(self.connection)
            self.connection.close()


# ---- looking for programs ----


def runners_live(folders):
    """Whether a runner of the data directory lives, or the watcher that ends the program of a dead one."""
    return any(is_runner(words, folders) for words in command_lines())


def is_runner(words, folders):
    for name in (b"/runner.mjs", b"/lifeline.sh"):
        at = next((n for n, word in enumerate(words) if word.endswith(name)), None)
        if at is not None:
            return any(word.startswith(folder.encode()) for word in words[at + 1 :] for folder in folders)
    return False


def command_lines():
    if not os.path.isdir("/proc/self"):
        with os.popen("/bin/ps -axww -o command=") as processes:
            for process in processes:
                yield process.encode().split()
        return
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    yield file.read(16_384).split(b"\0")
            except OSError:
                pass  # it ended meanwhile


if __name__ == "__main__":
    main()
