"""Gets the listening sockets: from the previous holder where it has them, else by binding them."""
import errno
import json
import socket
import time

from control_socket import MOST_SOCKETS, connect, dismiss, line, wait_until_gone

BACKLOG = 511
# For a previous holder that is about to end, and for the sockets of one that was killed.
PATIENCE_SECONDS = 2


def take_sockets(order):
    """The previous holder keeps its sockets until the wanted ones are open here: no program can bind them in between."""
    places = [resolve(place, order["port"]) for place in order["places"]]
    deadline = None
    had_previous = False
    while True:
        previous = connect(order["folder"])
        had_previous = had_previous or previous is not None
        handed = [] if previous is None else ask_for_sockets(previous)
        try:
            listeners = pick_or_bind(places, handed)
        except OSError as error:
            close_all(handed)
            if previous is not None:
                previous.close()
            # From the first attempt on: a previous holder that had to be killed has taken its time before that.
            deadline = deadline or time.monotonic() + PATIENCE_SECONDS
            if error.errno != errno.EADDRINUSE or not had_previous or time.monotonic() > deadline:
                raise
            time.sleep(0.05)
            continue
        close_all(set(handed) - set(listeners))
        if handed:
            confirm(previous, order["folder"])
        return listeners


def ask_for_sockets(previous):
    """Empty: the previous holder has none to give, and has ended."""
    try:
        previous.sendall(line({"do": "hand-over"}))
        said, descriptors, _, _ = socket.recv_fds(previous, 65_536, MOST_SOCKETS)
        handed = [socket.socket(fileno=descriptor) for descriptor in descriptors]
        if handed and json.loads(said).get("handed") == len(handed):
            return handed
        close_all(handed)
    except (OSError, ValueError):
        pass
    dismiss(previous)
    return []


def confirm(previous, folder):
    try:
        previous.sendall(b"taken\n")
    except OSError:  # it has stopped waiting for this word, and still has the sockets
        previous = connect(folder)
        if previous is not None:
            dismiss(previous)
        return
    wait_until_gone(previous)


def pick_or_bind(places, handed):
    """The first place is needed. The others may be of an address family that this machine does not have."""
    listeners, bound = [], []
    for place in places:
        listener = next((each for each in handed if is_at(each, place)), None)
        if listener is None:
            try:
                listener = bind(place)
            except OSError as error:
                if listeners and error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                    continue
                close_all(bound)
                error.filename = place["host"]
                raise
            bound.append(listener)
        listeners.append(listener)
    return listeners


def resolve(place, port):
    try:
        family, _, _, _, address = socket.getaddrinfo(place["host"], port, type=socket.SOCK_STREAM)[0]
    except socket.gaierror as error:
        error.filename = place["host"]
        raise
    return {"host": place["host"], "family": family, "address": address, "ipv6_only": int(place["ipv6Only"])}


def is_at(listener, place):
    if listener.family != place["family"] or listener.getsockname() != place["address"]:
        return False
    if listener.family != socket.AF_INET6:
        return True
    return listener.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY) == place["ipv6_only"]


def bind(place):
    listener = socket.socket(place["family"], socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if place["family"] == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, place["ipv6_only"])
        listener.bind(place["address"])
        listener.listen(BACKLOG)
        return listener
    except OSError:
        listener.close()
        raise


def close_all(listeners):
    for listener in listeners:
        listener.close()


def describe(error):
    if isinstance(error, socket.gaierror):
        code = "EAI_AGAIN" if error.errno == socket.EAI_AGAIN else "ENOTFOUND"
    else:
        code = errno.errorcode.get(error.errno, "EIO")
    return {"code": code, "address": error.filename, "message": error.strerror}
