"""Writes half of the given size to its standard output and half to a file, which it then overwrites repeatedly.

Usage: disk.py SECONDS MB
"""

import os
import sys
import time

BLOCK = os.urandom(1_000_000)
SYNC_EVERY = 64
seconds, megabytes = float(sys.argv[1]), int(sys.argv[2])
end = time.monotonic() + seconds
written = {"output": 0, "file": 0}
reason = ""


def write(name, descriptor):
    os.write(descriptor, BLOCK)
    written[name] += 1


file = os.open("large", os.O_WRONLY | os.O_CREAT, 0o600)
try:
    while time.monotonic() < end:
        if written["output"] < megabytes // 2:
            write("output", 1)
        if written["file"] % (megabytes // 2) == 0:
            os.lseek(file, 0, os.SEEK_SET)
        write("file", file)
        if written["file"] % SYNC_EVERY == 0:
            os.fsync(file)
except OSError as error:
    reason = f", refused: {error.strerror}"
print(f"attack: {written['output']} MB of output, {written['file']} MB to files{reason}", file=sys.stderr, flush=True)
time.sleep(max(0.0, end - time.monotonic()))
