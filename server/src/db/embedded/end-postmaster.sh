# Ends a PostgreSQL server whose Headgate is gone, whatever ended that one, once no process needs the server. Standard
# input is a pipe from Headgate: each line names a postmaster by pid and start time, the end of input is Headgate's end.
# The argument is the roster of the processes that need the server (`engines/runner/roster.ts`).
trap '' TERM INT HUP
roster=$1
postmaster=
while read -r pid started; do postmaster=$pid begun=$started; done
[ -n "$postmaster" ] || exit 0

# Whether the process of that pid is the one that was started then. Field 22 of proc(5) stat is the start time; the
# name before it, in brackets, may hold blanks.
lives() {
  if [ ! -r /proc/self/stat ]; then
    kill -0 "$1" 2>/dev/null
    return
  fi
  { read -r line <"/proc/$1/stat"; } 2>/dev/null || return 1
  set -- "$2" ${line##*) }
  [ "$2" != Z ] && [ "$2" != X ] && [ "${21}" = "$1" ]
}

# Entries are named <boot id>.<pid>.<start time>.
is_needed() {
  boot=$(cat /proc/sys/kernel/random/boot_id 2>/dev/null)
  for entry in "$roster"/*; do
    name=${entry##*/}
    process=${name#*.}
    [ -z "$boot" ] || [ "${name%%.*}" = "$boot" ] || continue
    lives "${process%%.*}" "${process#*.}" && return 0
  done
  return 1
}

while is_needed; do
  lives "$postmaster" "$begun" || exit 0
  sleep 1
done
# A fast shutdown; the harder signals lose nothing either, but the next start recovers.
for step in "INT 600" "QUIT 100" "KILL 100"; do
  lives "$postmaster" "$begun" || exit 0
  kill -"${step% *}" "$postmaster"
  tenths=0
  while [ "$tenths" -lt "${step#* }" ] && lives "$postmaster" "$begun"; do
    sleep 0.1
    tenths=$((tenths + 1))
  done
done
