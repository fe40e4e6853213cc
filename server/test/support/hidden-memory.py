"""Allocates 260 MiB, twice the limit that the test sets, in a way that does not show as memory of its processes.

Then waits until it is killed. The first argument names the way.
"""

import ctypes
import mmap
import os
import socket
import sys
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
SIZE = 260 << 20
MADV_DONTNEED, MADV_NOHUGEPAGE = 4, 15
kept = []


def fill(sender):
    """Sends until the buffer is full. Large buffers are asked for, too."""
    sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 24)
    sender.setblocking(False)
    sent = 0
    try:
        while True:
            sent += sender.send(bytes(65536))
    except BlockingIOError:
        return sent


def fill_pair():
    one, other = socket.socketpair()
    return fill(one) + fill(other), one, other


def sockets():
    sent = 0
    while sent < SIZE:
        more, *pair = fill_pair()
        kept.append(pair)
        sent += more


def connections_that_wait():
    sent = 0
    while sent < SIZE:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(f"\0{os.getpid()}-{sent}")
        listener.listen(4096)
        kept.append(listener)
        while sent < SIZE:
            with socket.socket(socket.AF_UNIX) as client:
                client.setblocking(False)
                try:
                    client.connect(listener.getsockname())
                except BlockingIOError:
                    break
                sent += fill(client)


def sockets_in_messages():
    """The carriers are replaced all the time, so that no message waits long."""
    carriers = []
    sent = 0
    while sent < SIZE:
        carrier = socket.socketpair()
        carriers.append(carrier)
        carrier[0].setblocking(False)
        try:
            while sent < SIZE:
                more, one, other = fill_pair()
                socket.send_fds(carrier[0], [b"x"], [one.fileno(), other.fileno()])
                sent += more
        except BlockingIOError:
            pass
    print("taken", flush=True)
    while True:
        carriers = [moved(carrier) for carrier in carriers]


def moved(carrier):
    """Moves all messages to a new pair of sockets."""
    fresh = socket.socketpair()
    carrier[1].setblocking(False)
    try:
        while True:
            _, descriptors, _, _ = socket.recv_fds(carrier[1], 1, 2)
            socket.send_fds(fresh[0], [b"x"], descriptors)
            for descriptor in descriptors:
                os.close(descriptor)
    except BlockingIOError:
        for end in carrier:
            end.close()
        return fresh


def tcp():
    listener = socket.create_server(("127.0.0.1", 0))
    sent = 0
    while sent < SIZE:
        client = socket.create_connection(listener.getsockname())
        kept.append((client, listener.accept()))
        sent += fill(client)


def process_without_first_thread():
    def take():
        while "Z (zombie)" not in open(f"/proc/{os.getpid()}/status").read():
            time.sleep(0.01)
        kept.append(bytearray(b"x") * SIZE)
        time.sleep(300)

    if os.fork() == 0:
        threading.Thread(target=take).start()
        libc.pthread_exit(None)


def page_tables():
    size = SIZE // 4096 << 21
    start = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, -1, 0)
    libc.madvise(start, size, MADV_NOHUGEPAGE)
    for offset in range(0, size, 1 << 21):
        ctypes.c_char.from_address(start + offset).value


def shared_memory():
    start = libc.mmap(None, SIZE, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS, -1, 0)
    for offset in range(0, SIZE, 1 << 22):
        ctypes.memset(start + offset, 1, 1 << 22)
        libc.madvise(start + offset, 1 << 22, MADV_DONTNEED)


def mappings():
    start = libc.mmap(None, 65000 * 4096, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, -1, 0)
    for page in range(0, 60000, 2):
        libc.mprotect(ctypes.c_void_p(start + page * 4096), 4096, mmap.PROT_READ)
    for _ in range(25):
        if os.fork() == 0:
            time.sleep(300)


globals()[sys.argv[1]]()
print("taken", flush=True)
time.sleep(300)
