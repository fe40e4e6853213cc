"""The Unix socket in the data directory on which the next holder contacts this one. Only the same user can connect.

One connection carries one request, a line of JSON. Holders of different versions talk to each other, so this protocol must
not change. Unknown names in a JSON object are ignored.

  {"do": "end"}        The holder closes its sockets and ends. The connection closes with it.
  {"do": "hand-over"}  The holder answers {"handed": <count>} and, with the same message, all its listening sockets
                       (SCM_RIGHTS). It continues as before until it reads the line "taken": then it closes its
                       sockets and the connection. Without this line, nothing changes.

A holder that answers "hand-over" without sockets receives "end" on the same connection. A holder that does not close the
connection within CONTROL_SECONDS is killed.
"""
import json
import os
import signal
import socket
import struct
import time

CONTROL = "port-holder.sock"
CONTROL_SECONDS = 3
MAX_SOCKETS = 8


def line(message):
    return json.dumps(message).encode() + b"\n"


def in_folder(folder, work):
    """Runs `work` in the folder, because the address of a Unix socket has at most 107 bytes."""
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
        return None  # there is no holder, or it has ended


def peer_of(connection):
    """The pid and uid of the peer; None on systems without SO_PEERCRED, where only the file's mode protects the socket."""
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
