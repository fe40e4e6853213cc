"""The Unix socket in the data directory by which the next holder reaches this one. It is open to the same user only.

One connection carries one request, a line of JSON. Holders of different versions talk to each other, so these words stay
as they are in every later version. Unknown names in a JSON object are ignored.

  {"do": "end"}        The holder closes its sockets and ends. The connection closes with it.
  {"do": "hand-over"}  The holder answers {"handed": <count>} and, with the same message, all its listening sockets
                       (SCM_RIGHTS). It goes on as before until it reads the line "taken": then it closes its
                       sockets and the connection. Without this line, nothing has changed.

A holder that answers "hand-over" without sockets is told to end on the same connection. A holder that has not closed the
connection CONTROL_SECONDS later is killed.
"""
import json
import os
import signal
import socket
import struct
import time

CONTROL = "port-holder.sock"
CONTROL_SECONDS = 3
MOST_SOCKETS = 8


def line(message):
    return json.dumps(message).encode() + b"\n"


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
