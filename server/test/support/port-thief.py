"""A program of a tenant that repeatedly tries to bind the server's port in both address families.

Arguments: the port, and a folder for its reports. `rounds` counts its attempts, and `stolen` has a line for each socket
and each request that it got. It ends when the file `enough` exists.
"""
import os
import socket
import sys
import time

port, folder = int(sys.argv[1]), sys.argv[2]
ADDRESSES = [
    ("127.0.0.1", socket.AF_INET),
    ("0.0.0.0", socket.AF_INET),
    ("::1", socket.AF_INET6),
    ("::", socket.AF_INET6),
    ("::ffff:127.0.0.1", socket.AF_INET6),
]
caught = []


def tell(name, text, mode="w"):
    with open(os.path.join(folder, name), mode) as file:
        file.write(text)


def bind(host, family):
    try:
        thief = socket.socket(family, socket.SOCK_STREAM)
    except OSError:
        return  # the machine has no IPv6
    try:
        thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if family == socket.AF_INET6:
            thief.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int("." not in host))
        thief.bind((host, port))
        thief.listen(100)
        thief.setblocking(False)
        tell("stolen", f"listens on {host}\n", "a")
        caught.append(thief)
    except OSError:
        thief.close()


def inherited_sockets():
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                yield name
        except OSError:
            pass  # the one that lists the folder


for name in inherited_sockets() if os.path.isdir("/proc/self/fd") else []:
    tell("stolen", f"inherited the socket {name}\n", "a")
rounds = 0
while not os.path.exists(os.path.join(folder, "enough")):
    for address in ADDRESSES:
        bind(*address)
    for thief in caught:
        try:
            client, _ = thief.accept()
        except BlockingIOError:
            continue
        client.settimeout(1)
        request = client.recv(65_536).decode("latin-1")
        token = next((line for line in request.split("\r\n") if line.lower().startswith("x-auth-token")), "no token")
        tell("stolen", f"received {token[:20]}\n", "a")
        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nstolen")
        client.close()
    rounds += 1
    tell("rounds", str(rounds))
    time.sleep(0.002)
