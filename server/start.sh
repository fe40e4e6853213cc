#!/bin/sh
# The server as it is meant to run. Without these settings the C library keeps an arena per thread and what was freed in
# it, and V8 lets buffers of a large result wait for a young generation that hardly fills.
export MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=131072
here=$(dirname "$0")
exec "$here/../node_modules/.bin/node" --max-semi-space-size=4 "$here/headgate.mjs" start "$@"
