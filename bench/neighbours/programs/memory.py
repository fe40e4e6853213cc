"""Allocates memory, a quarter of it in /dev/shm, and keeps writing to the rest until the time is over.

Usage: memory.py SECONDS MIB
"""

import sys
import time

STEP = 32
PAGE = 4096
seconds, wanted = float(sys.argv[1]), int(sys.argv[2])
end = time.monotonic() + seconds
taken = 0
held = []
reason = ""
try:
    with open("/dev/shm/neighbour", "wb") as shared:
        while taken < wanted // 4:
            shared.write(b"\1" * (STEP << 20))
            shared.flush()
            taken += STEP
except OSError as error:
    reason = f", /dev/shm refused more: {error.strerror}"
try:
    while taken < wanted and time.monotonic() < end:
        held.append(bytearray(b"\1") * (STEP << 20))
        taken += STEP
except MemoryError:
    reason += ", memory refused more"
print(f"attack: {taken} MiB{reason}", file=sys.stderr, flush=True)
while time.monotonic() < end:
    for block in held:
        block[::PAGE] = b"\2" * len(block[::PAGE])
    time.sleep(0.01)
