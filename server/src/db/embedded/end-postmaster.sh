# Ends a PostgreSQL server after its Headgate has ended for any reason, once no process needs the server. Standard input
# is a pipe from Headgate: each line names a postmaster by pid and start time, and the end of input means that Headgate
# has ended. The argument is the roster of the processes that need the server (`processes/runner/roster.ts`).
trap '' TERM INT HUP
roster=$1
postmaster=
while read -r pid started; do postmaster=$pid begun=$started; done
[ -n "$postmaster" ] || exit 0

# Whether a live process has this pid and this start time. Field 22 of proc(5) stat is the start time; the name before
# it, in brackets, may contain blanks.
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
# A fast shutdown first. The harder signals lose no data either, but then the next start has to recover.
for step in "INT 600" "QUIT 100" "KILL 100"; do
  lives "$postmaster" "$begun" || exit 0
  kill -"${step% *}" "$postmaster"
  tenths=0
  while [ "$tenths" -lt "${step#* }" ] && lives "$postmaster" "$begun"; do
    sleep 0.1
    tenths=$((tenths + 1))
  done
done
