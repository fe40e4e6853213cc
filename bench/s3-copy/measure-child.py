"""Runs a command and writes the resources that it and all processes that it waited for have used.

measure-child.py RESULT STDOUT STDERR COMMAND [ARGUMENT ...]
"""

import json
import os
import sys
import time

result, stdout, stderr, *command = sys.argv[1:]
flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
opened = [(os.POSIX_SPAWN_OPEN, 1, stdout, flags, 0o600), (os.POSIX_SPAWN_OPEN, 2, stderr, flags, 0o600)]
began = time.monotonic()
pid = os.posix_spawnp(command[0], command, os.environ, file_actions=opened)
_, status, usage = os.wait4(pid, 0)
ended = time.monotonic()
with open(result, "w") as file:
    json.dump(
        {
            "wallSeconds": ended - began,
            "cpuSeconds": usage.ru_utime + usage.ru_stime,
            "peakMiB": usage.ru_maxrss / 1024,
            "exitCode": os.waitstatus_to_exitcode(status),
        },
        file,
    )
