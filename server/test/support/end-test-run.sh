# Ends the processes that a run of tests or of a benchmark left when it has ended for any reason, even by SIGKILL, and
# removes its folders. Standard input is a pipe from the run's main process: one line for each of its folders, then `done` if the
# run has cleaned up itself. A process belongs to the run if its command line or its environment names one of the
# folders. This script reads them from the pipe so that it does not match itself. Linux only.
trap '' TERM INT HUP
folders=
while read -r line; do
  [ "$line" = done ] && exit 0
  folders="$folders$line
"
done
[ -n "$folders" ] && [ -r /proc/self/stat ] || exit 0

find_processes() {
  printf '%s' "$folders" | grep -lsF -f - /proc/[0-9]*/cmdline /proc/[0-9]*/environ | cut -d / -f 3 | sort -u
}

# PostgreSQL has its own watcher, which shuts it down cleanly when its Headgate is gone.
is_postgres() {
  tr '\0' ' ' 2>/dev/null <"/proc/$1/cmdline" | grep -q -e '/postgres -D ' -e 'end-postmaster.sh'
}

rounds=0
while [ "$rounds" -lt 300 ]; do
  left=
  for pid in $(find_processes); do
    left=yes
    [ "$rounds" -lt 200 ] && is_postgres "$pid" || kill -KILL "$pid" 2>/dev/null
  done
  [ -n "$left" ] || break
  rounds=$((rounds + 1))
  sleep 0.1
done
printf '%s' "$folders" | while read -r folder; do rm -rf "$folder"; done
