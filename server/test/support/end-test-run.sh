# Ends what a test run has left when the run is gone, whatever ended it, a SIGKILL included, and removes its folders.
# Standard input is a pipe from the run's main process: its folders, a line each, then `done` when it has cleaned up
# itself. A process belongs to the run when its command line or its environment names one of the folders; they are read
# from the pipe so that ours do not. Linux only.
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

# PostgreSQL has a watcher that ends it in good order when its Headgate is gone.
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
