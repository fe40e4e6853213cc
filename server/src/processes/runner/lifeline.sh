# Ends a program's session when its runner is gone for any reason. Standard input is a pipe from the runner: its first
# line names the session, and end of file means that the runner is gone. A runner that has seen all of the program end
# writes "over" first, so that no search is necessary. Signals meant for the program are ignored.
# The first argument is a variable that all of the program's processes have in their environment, unless they cleared
# it. The second, the folder of the run, only shows in the process table which data directory the program belongs to.
trap '' TERM INT HUP
mark=$1
read -r session started || exit 0
while read -r word; do [ "$word" != over ] || exit 0; done

if [ ! -r /proc/self/stat ]; then
  kill -KILL -- "-$session"
  exit 0
fi

# Parses a line of proc(5) stat; the name in brackets may contain blanks.
parse() {
  pid=${1%% *}
  set -- ${1##*) }
  state=$1 parent=$2 its_session=$4 threads=${18} begun=${20}
}

# Sets $members to the processes of the session, those with the mark, and all their descendants.
find_members() {
  members=" " before=
  for file in $(grep -lsz -- "^$mark\$" /proc/[0-9]*/environ); do
    pid=${file#/proc/}
    members="$members${pid%/environ} "
  done
  while [ "$members" != "$before" ]; do
    before=$members
    for file in /proc/[0-9]*/stat; do
      { read -r line <"$file"; } 2>/dev/null || continue
      parse "$line"
      [ "$pid" != "$$" ] && [ "$state" != X ] || continue
      [ "$state" = Z ] && [ "$threads" -le 1 ] && continue
      # The pid was reused: nothing of the session is left.
      [ "$pid" = "$session" ] && [ "$begun" != "$started" ] && exit 0
      case $members in *" $pid "*) continue ;; esac
      case "$sessions$members" in
      *" s$its_session "* | *" $parent "*)
        members="$members$pid "
        sessions="$sessions""s$its_session "
        ;;
      esac
    done
  done
}

sessions=" s$session "
rounds=0
while [ "$rounds" -lt 100 ]; do
  find_members
  [ "$members" != " " ] || exit 0
  kill -KILL $members 2>/dev/null
  rounds=$((rounds + 1))
  sleep 0.1
done
exit 1
