"""Gets the listening sockets from the previous holder, or binds them."""
import errno
import json
import socket
import time

from control_socket import MAX_SOCKETS, connect, dismiss, line, wait_until_gone

BACKLOG = 511
# How long to retry while a previous holder ends, or the sockets of a killed one close.
RETRY_SECONDS = 2


def take_sockets(order):
    """The previous holder keeps its sockets until ours are open, so that no program can bind them in between."""
    addresses = [resolve(wanted, order["port"]) for wanted in order["addresses"]]
    deadline = None
    had_previous = False
    while True:
        previous = connect(order["folder"])
        had_previous = had_previous or previous is not None
        handed = [] if previous is None else ask_for_sockets(previous)
        try:
            listeners = pick_or_bind(addresses, handed)
        except OSError as error:
            close_all(handed)
            if previous is not None:
                previous.close()
            # Starts at the first failure, because killing a previous holder takes time before that.
            deadline = deadline or time.monotonic() + RETRY_SECONDS
            if error.errno != errno.EADDRINUSE or not had_previous or time.monotonic() > deadline:
                raise
            time.sleep(0.05)
            continue
        close_all(set(handed) - set(listeners))
        if handed:
            confirm(previous, order["folder"])
        return listeners


def ask_for_sockets(previous):
    """Returns an empty list if the previous holder has no sockets to hand over; then it is ended."""
    try:
        previous.sendall(line({"do": "hand-over"}))
        said, descriptors, _, _ = socket.recv_fds(previous, 65_536, MAX_SOCKETS)
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
    except OSError:  # it timed out waiting for this line, and still has the sockets
        previous = connect(folder)
        if previous is not None:
            dismiss(previous)
        return
    wait_until_gone(previous)


def pick_or_bind(addresses, handed):
    """The first address is required. The others may belong to an address family that this machine does not have."""
    listeners, bound = [], []
    for wanted in addresses:
        listener = next((each for each in handed if is_at(each, wanted)), None)
        if listener is None:
            try:
                listener = bind(wanted)
            except OSError as error:
                if listeners and error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                    continue
                close_all(bound)
                error.filename = wanted["host"]
                raise
            bound.append(listener)
        listeners.append(listener)
    return listeners


def resolve(wanted, port):
    try:
        family, _, _, _, address = socket.getaddrinfo(wanted["host"], port, type=socket.SOCK_STREAM)[0]
    except socket.gaierror as error:
        error.filename = wanted["host"]
        raise
    return {"host": wanted["host"], "family": family, "address": address, "ipv6_only": int(wanted["ipv6Only"])}


def is_at(listener, wanted):
    if listener.family != wanted["family"] or listener.getsockname() != wanted["address"]:
        return False
    if listener.family != socket.AF_INET6:
        return True
    return listener.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY) == wanted["ipv6_only"]


def bind(wanted):
    listener = socket.socket(wanted["family"], socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if wanted["family"] == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, wanted["ipv6_only"])
        listener.bind(wanted["address"])
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
