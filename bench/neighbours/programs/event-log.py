"""Writes an event log that is small but expensive to read: very many stages, and one job that ends many times.

Usage: event-log.py SECONDS STAGES ENDS
"""

import json
import os
import sys
import time

seconds, stages, ends = float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
path = f"/headgate/events/command-{os.environ['COMMAND']}-{os.environ['ATTEMPT']}"


def event(name, fields):
    return json.dumps({"Event": f"SparkListener{name}", **fields}, separators=(",", ":")) + "\n"


infos = [{"Stage ID": each, "Number of Tasks": 1} for each in range(stages)]
with open(path, "w") as log:
    log.write(event("JobStart", {"Job ID": 1, "Submission Time": 1, "Stage Infos": infos}))
    log.write(event("JobStart", {"Job ID": 2, "Submission Time": 1, "Stage Infos": []}))
    end = event("JobEnd", {"Job ID": 2, "Completion Time": 2, "Job Result": {"Result": "JobSucceeded"}})
    for _ in range(ends):
        log.write(end)
print(f"attack: event log of {os.path.getsize(path) / 1e6:.1f} MB", file=sys.stderr, flush=True)
time.sleep(seconds)
