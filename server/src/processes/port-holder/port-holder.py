"""Holds the listening sockets of the server's port, so that no other program can bind the port while the server is down.

  port-holder.py hold <order>   takes the sockets over from a previous holder, or binds them; passes them to the server
  port-holder.py end <order>    ends the holder of a data directory

The order is JSON (`port-holder.ts`). `hold` is a child of the server, in a session of its own, and outlives it. The two
communicate over the IPC channel that Node opens for a child: one JSON object per line, sockets as SCM_RIGHTS. The channel
closes when the server ends. While no server is serving, the holder answers every request with the response in its order.
It ends when there is no server and no runner of the data directory (`runner.mjs`), because then no tenant's program is
running. The next holder takes the sockets over through a Unix socket in the data directory (`control_socket.py`).
"""
import array
import json
import os
import selectors
import signal
import socket
import sys
import time

# With -I, Python does not search the script's folder for modules.
sys.dont_write_bytecode = True
sys.path.append(os.path.dirname(os.path.abspath(__file__)))

from control_socket import CONTROL_SECONDS, connect, dismiss, line, open_control, peer_of, publish_control, withdraw_control
from live_runners import runners_live
from take_sockets import describe, take_sockets
from visitor import Visitor

CHECK_EVERY_SECONDS = 1
MAX_VISITORS = 256


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
        # First, so that a full disk does not make a previous holder lose its sockets.
        control = open_control(order["folder"])
        listeners = [socket.socket(fileno=channel.fileno() + 1 + n) for n in range(count)] or take_sockets(order)
        publish_control(order["folder"])
    except OSError as error:
        tell(channel, {"failed": describe(error)})
        withdraw_control(order["folder"])
        return
    if count == 0:
        for _ in range(order["copies"]):
            for listener in listeners:
                hand_to_node(channel, listener)
    tell(channel, {"holds": True})
    Holder(order, channel, control, listeners).run()


def tell(channel, message):
    try:
        channel.sendall(line(message))
    except OSError:
        pass  # the server is gone: the channel's end reports it


def hand_to_node(channel, listener):
    """Uses Node's internal format for sending a handle to the parent; `port-holder.test.ts` detects changes in Node."""
    rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [listener.fileno()]))
    try:
        channel.sendmsg([line({"cmd": "NODE_HANDLE", "type": "net.Native", "msg": {"socket": True}})], [rights])
    except OSError:
        pass  # as above


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
        self.next_check = 0
        self.watched = selectors.DefaultSelector()

    def run(self):
        """Each round accepts at most one connection per socket, so that a flood of them delays neither server nor operator."""
        self.watched.register(self.channel, selectors.EVENT_READ, self.hear)
        self.watched.register(self.control, selectors.EVENT_READ, self.obey)
        self.answer(not self.order["serving"])
        while True:
            for key, _ in self.watched.select(self.pause()):
                key.data()
            now = time.monotonic()
            for visitor in [each for each in self.visitors.values() if each.deadline <= now]:
                visitor.time_out()
            if self.is_retired:
                if not self.visitors:
                    self.end()
            elif self.channel is None and self.next_check <= now:
                # Not in every round: a client that keeps connecting must not make us read the process table each time.
                self.next_check = now + CHECK_EVERY_SECONDS
                if not runners_live(self.order["runners"]):
                    self.end()

    def pause(self):
        deadlines = [visitor.deadline for visitor in self.visitors.values()]
        if self.channel is None and not self.is_retired:
            deadlines.append(self.next_check)
        return max(0, min(deadlines) - time.monotonic()) if deadlines else None

    def end(self):
        for listener in self.listeners:
            listener.close()
        os._exit(0)

    def retire(self):
        """The next holder has the sockets. Clients that are already connected still get their response."""
        self.answer(False)
        self.is_retired = True
        for listener in self.listeners:
            listener.close()
        self.watched.unregister(self.control)
        self.control.close()

    def answer(self, is_answering):
        if is_answering == self.is_answering or self.is_retired:
            return
        self.is_answering = is_answering
        for listener in self.listeners:
            if is_answering:
                listener.setblocking(False)
                self.watched.register(listener, selectors.EVENT_READ, lambda listener=listener: self.admit(listener))
            else:
                self.watched.unregister(listener)

    def hear(self):
        """Handles messages of the server: whether it serves, and that it is about to end."""
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
        """Handles a request of the next holder, or of an operator who stops everything."""
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
        if request.get("do") == "hand-over":
            handed = line({"handed": len(self.listeners)})
            socket.send_fds(connection, [handed], [listener.fileno() for listener in self.listeners])
            if lines.readline(64) == b"taken\n":
                self.retire()
        elif request.get("do") == "end":
            self.end()

    def admit(self, listener):
        if not self.is_answering:
            return  # the server has started to serve meanwhile
        try:
            connection, _ = listener.accept()
        except (BlockingIOError, ConnectionError):
            return  # the client is gone
        except OSError:
            self.dismiss_oldest()  # no descriptors are left
            return
        connection.setblocking(False)
        if len(self.visitors) >= MAX_VISITORS:
            self.dismiss_oldest()
        visitor = Visitor(self, connection)
        self.visitors[connection] = visitor
        self.watched.register(connection, selectors.EVENT_READ, visitor.read)

    def dismiss_oldest(self):
        oldest = next(iter(self.visitors.values()), None)
        if oldest is not None:
            oldest.leave()


if __name__ == "__main__":
    main()
