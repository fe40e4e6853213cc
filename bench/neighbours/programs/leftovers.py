"""Creates empty files in nested folders and ends at once, so that the server has to remove them.

Usage: leftovers.py SECONDS FILES
"""

import os
import sys

FILES_PER_FOLDER = 10_000
made = 0
reason = ""
try:
    while made < int(sys.argv[2]):
        os.mkdir(f"folder{made}")
        os.chdir(f"folder{made}")
        for file in range(FILES_PER_FOLDER):
            os.close(os.open(str(file), os.O_WRONLY | os.O_CREAT, 0o600))
        made += FILES_PER_FOLDER
except OSError as error:
    reason = f", refused: {error.strerror}"
print(f"attack: {made} files left{reason}", file=sys.stderr, flush=True)
