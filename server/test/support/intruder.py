"""Attacks of a hostile program from inside its sandbox. Takes its plan as JSON and prints a report as JSON.

A refused attempt is reported with the reason, a successful one with its result.
"""

import errno
import json
import os
import socket
import struct
import sys

plan = json.loads(sys.argv[1])
work = os.getcwd()
attempt = os.path.dirname(work)
storage = os.path.dirname(os.environ["JOURNAL"])
account = os.path.dirname(storage)
outside = f"{account}/commands/{os.environ['COMMAND']}/attempts/{os.environ['ATTEMPT']}"


def outcome(deed, *arguments):
    try:
        return {"succeeded": True, "got": repr(deed(*arguments))}
    except OSError as error:
        return {"succeeded": False, "got": errno.errorcode.get(error.errno, str(error))}


def read(path):
    if os.path.isdir(path):
        return os.listdir(path)
    with open(path, "rb") as file:
        return file.read(64)


def list(path):
    return sorted(os.listdir(path))


def read_all(path):
    with open(path, "rb") as file:
        return file.read()


def write(path):
    if os.path.isdir(path):
        path = os.path.join(path, "intruder-was-here")
    with open(path, "ab", buffering=0) as file:
        file.write(b"0" if path.startswith("/proc/") else b"intruder")


def remove(path):
    os.rename(path, path + ".gone")


def signal(pid):
    os.kill(pid, 0)


def look_into(pid):
    return [read(f"/proc/{pid}/{name}") for name in ("environ", "cmdline", "fd", "root", "cwd")]


def connect_to_file(path):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)


def ask(port, request, size):
    with socket.create_connection(("127.0.0.1", port), 5) as client:
        client.sendall(request)
        return client.recv(size)


def log_in(port, user, database):
    """Connects without a password: PostgreSQL replies R and 0 to trusted clients."""
    words = b"".join(word.encode() + b"\0" for word in ("user", user, "database", database)) + b"\0"
    answer = ask(port, struct.pack("!II", len(words) + 8, 196608) + words, 9)
    if answer[:1] == b"R" and struct.unpack("!I", answer[5:9])[0] == 0:
        return "logged in"
    asks = "asks for SCRAM" if answer[:1] == b"R" and answer[8] == 10 else "refuses"
    raise OSError(asks)


def call_api(port, path):
    status = ask(port, f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode(), 64).split()[1].decode()
    if status == "200":
        return status
    raise OSError(status)


def run_off(arguments):
    """Forks twice, leaves the session, clears the environment, and ignores TERM, HUP and INT."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for descriptor in (0, 1, 2):
                os.dup2(os.open("/dev/null", os.O_RDWR), descriptor)
            stubborn = "trap '' TERM HUP INT; while :; do sleep 1; done"
            os.execve("/bin/sh", ["sh", "-c", stubborn, arguments], {})
        os._exit(0)


deeds = {deed.__name__: deed for deed in (read, list, write, remove, signal, look_into, connect_to_file, log_in, call_api)}


def fill_in(argument):
    """Fills in the program's own account and attempt, which the plan does not know."""
    if not isinstance(argument, str):
        return argument
    return argument.replace("<attempt>", attempt).replace("<outside>", outside).replace("<account>", account)


attempts = []
for deed, *arguments in plan["attempts"]:
    arguments = [fill_in(argument) for argument in arguments]
    attempts.append({"attempt": [deed, *arguments], **outcome(deeds[deed], *arguments)})

secret, folder = plan["linkedFile"], plan["linkedFolder"]
os.symlink(secret, storage + "/link.py")
os.symlink(folder, storage + "/folder")
os.symlink(secret, f"{attempt}/events/command-{os.environ['COMMAND']}-{os.environ['ATTEMPT']}")
os.symlink(folder, "folder")
os.mkfifo(storage + "/pipe.py")
# Folders that an unprivileged server cannot simply delete: one without permissions, and one whose path is too long.
os.makedirs("closed/inside")
os.chmod("closed", 0)
for _ in range(50):
    os.mkdir("d" * 200)
    os.chdir("d" * 200)
run_off(plan["marker"])


def of_process(pid, name):
    """Empty for a process that ends or executes another program at this moment."""
    try:
        return read_all(f"/proc/{pid}/{name}")
    except OSError:
        return b""


processes = [name for name in os.listdir("/proc") if name.isdigit()]
environments = b"".join(of_process(pid, "environ") for pid in processes)
report = {
    "attempts": attempts,
    "variables": [variable for variable in environments.decode().split("\0") if variable],
    "commandLines": [of_process(pid, "cmdline").decode() for pid in processes],
    # One descriptor belongs to the listing itself.
    "descriptors": len(os.listdir("/proc/self/fd")) - 1,
    "sharedMemory": read_all("/proc/sysvipc/shm").decode().splitlines()[1:],
    "groups": os.getgroups(),
    "user": os.getuid(),
}
print(json.dumps(report))
