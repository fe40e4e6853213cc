"""Starts the given number of processes, which then all compute until the time is over.

Usage: fork.py SECONDS PROCESSES [1: each in a session of its own]
"""

import os
import sys
import time

seconds, wanted = float(sys.argv[1]), int(sys.argv[2])
has_sessions = sys.argv[3:] == ["1"]
end = time.monotonic() + seconds
made = refused = 0
reason = ""
gate, opener = os.pipe()
while made < wanted and time.monotonic() < end - seconds / 2:
    try:
        if os.fork() == 0:
            if has_sessions:
                os.setsid()
            os.close(opener)
            os.read(gate, 1)
            while time.monotonic() < end:
                pass
            os._exit(0)
        made += 1
    except OSError as error:
        refused += 1
        reason = os.strerror(error.errno)
        time.sleep(0.005)
os.close(opener)
print(f"attack: {made} processes" + (f", {refused} refused: {reason}" if refused else ""), file=sys.stderr, flush=True)
time.sleep(max(0.0, end - time.monotonic()))
