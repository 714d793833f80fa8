# Sourced by `run`: another user or node attacks every listener at full rate, takes the names that are known beforehand,
# and leaves links and pipes in the places that muster writes to (README.md, "Attacks").
# shellcheck shell=bash
# shellcheck disable=SC2016 # the variables are the node's
# shellcheck disable=SC2154 # run sets here, work and bin, lib.sh muster

long=()
[[ -z ${MUSTER_TESTS_LONG-} ]] || long=(--long)
part env TMPDIR="$work" MUSTER_BIN_DIR="$bin" timeout --kill-after=30 10800 "$here/attack/attacks.py" "${long[@]}"

# blind WAY PROBLEM: the suite fails if its attacks meet no listener, each for this reason (a glob).
blind() {
  local code=0 line lines
  lines=$(TMPDIR=$work MUSTER_BIN_DIR=$bin timeout --kill-after=30 300 "$here/attack/attacks.py" --blind "$1" \
    'Unix near launch' 'data TCP near connecting' 'store near') || code=$?
  expect 'exit code' $code 1
  for line in 'Unix near launch, close' 'data TCP near connecting, sources' 'store near, hello'; do
    # A rank sends no answer before its first call.
    [[ $1 != message || $line != data* ]] || continue
    expect_like "$line" "$(grep -F "attack: $line" <<<"$lines")" "FAILED attack: $line: no attack: $2"
  done
}
check 'attack: a listener that is not found is a failure' blind listener 'no listener'
check 'attack: a listener that takes no connection is a failure' blind connection "* does not take the job's own user"
check 'attack: a first message without its answer is a failure' blind message '* answers the first message with *'
check 'attack: an attack on nothing is a failure' blind target '* attempts, 0 connected, 0 denied, last error: *'

# ---- names that are known beforehand

# names_before NAME HELD RANK: a step whose ranks HELD wait; NAME/names has what RANK's node and launch will use.
names_before() {
  step "$1" "$2" -- sh -c '[ $SLURM_PROCID != "$3" ] || "$0" >"$1/names" || exit; shift 3; exec "$@"' \
    "$bin/tests/faults/meeting_names" "$work/$1" - "$3" "$muster" run --set timeouts.rendezvous=20s -- true
  until_true 10 test -s "$work/$1/names"
}

formed_in_spite() {
  finish "$1" 0
  all_ended "$1" 0 0-15
  expect_at_most "lines of $1" "$(cat "$work/$1"/*.err | wc -l)" 20
  exec {stay}>&-
  wait
  nothing_left "$1"
}

expect_at_most() {
  [[ $2 -le $3 ]] || fail "$1: $2, more than $3"
}

attacker() {
  local dir=$work/$1 where=()
  mkdir "$dir"
  chmod 777 "$dir"
  mkfifo "$dir/stay"
  shift
  while [[ $1 != -- ]]; do where+=("$1") && shift; done
  shift
  on "${where[@]}" "$here/stranger.py" "$@" <"$dir/stay" >"$dir/said" 2>&1 &
  exec {stay}>"$dir/stay"
}

# The name of gpu02's leader belongs to a socket that does not listen, wherever muster searches for it: a connection to it is
# refused.
bound() {
  local name
  names_before bound 4 5
  name=$(head -n 1 "$work/bound/names")
  chmod 1777 "$work/bound/tmp"
  attacker bound_by --user nobody gpu02 -- --bind "$work/bound_by/ready" "$EUID" "$name" /dev/shm /tmp "$work/bound/tmp"
  until_true 10 test -s "$work/bound_by/ready"
  expect 'sockets of that name' "$(on gpu02 grep -c "/$name~\$" /proc/net/unix)" 3
  open_gate bound 1
  formed_in_spite bound
}

# Another user's listeners, some of which send bytes, have all ports that the root would take, and keep them.
all_ports() {
  local ports
  names_before ports 0 5
  ports=$(grep -x '[0-9]*' "$work/ports/names" | paste -sd,)
  attacker ports_by --user nobody gpu01 -- "$work/ports_by/ready" "$ports"
  until_true 10 test -s "$work/ports_by/ready"
  expect 'the user of these ports' "$(stat -c %U "$work/ports_by/ready")" nobody
  open_gate ports 1
  formed_in_spite ports
}

check 'attack: the name of a leader is bound by a socket that does not listen' bound
check 'attack: all ports of the root are taken and never given back' all_ports

# ---- directories that others may write

# alone_on_gpu01 SCRIPT ARG...: as root, with programs in /run/attack, in a mount namespace where /tmp and /dev/shm are
# new and empty; `user` and `stranger` in front of a command run it as one of two users.
alone_on_gpu01() {
  on gpu01 sh -c 'mkdir -p /run/attack && cp "$@" /run/attack' - "$muster" "$here/stranger.py"
  on gpu01 unshare --mount bash -c '
    set -eu
    for directory in /tmp /dev/shm; do mount -t tmpfs -o mode=1777 attack $directory; done
    cd /run/attack
    user() { setpriv --reuid=60123 --regid=60123 --clear-groups env -u TMPDIR -u XDG_RUNTIME_DIR "$@"; }
    stranger() { setpriv --reuid=60124 --regid=60124 --clear-groups "$@"; }
    '"$1" "${@:2}"
}

littered() {
  local times
  times=$(alone_on_gpu01 '
    seconds() {
      local before=$EPOCHREALTIME
      user ./muster launch -n 2 -- true 2>>/tmp/said >&2
      echo "$EPOCHREALTIME $before" | awk "{ print \$1 - \$2 }"
    }
    exec 3>&1
    control=$(seconds)
    stranger ./stranger.py --litter 60123 10000 /tmp /dev/shm >&2
    echo "$control $(seconds) $(wc -l </tmp/said)"')
  printf '# 20000 entries named like directories of muster: a launch took %s s, after %s s without; lines: %s\n' \
    "$(cut -d' ' -f2 <<<"$times")" "$(cut -d' ' -f1 <<<"$times")" "$(cut -d' ' -f3 <<<"$times")" >&3
  awk '{ exit !($2 - $1 <= 1 && $3 <= 20) }' <<<"$times" ||
    fail "a launch of $(cut -d' ' -f1 <<<"$times") s took $(cut -d' ' -f2 <<<"$times") s; lines: $(cut -d' ' -f3 <<<"$times")"
}

# foreign KIND PATH EXPECTED WORD...: PATH is another user's: a `link` to a file of the user, a `link-to-folder` of the user,
# a `pipe` without a reader, or a `directory` for all. `muster WORD...` of the user ends with EXPECTED, "CODE ERROR" with a glob; without EXPECTED, with 0
# or an error that names PATH. The user's folder is unchanged. /tmp/logs is a directory for all, and so is a PATH's parent in it.
foreign() {
  alone_on_gpu01 '
    kind=$1 path=$2 expected=$3
    shift 3
    install -d -m 700 -o 60123 -g 60123 /tmp/own
    user sh -c "echo mine >/tmp/own/file; echo item >/tmp/own/items.txt"
    mkdir -m 1777 /tmp/logs
    [ -d "${path%/*}" ] || mkdir -m 1777 "${path%/*}"
    case $kind in
      link) stranger ln -s /tmp/own/file "$path" ;;
      link-to-folder) stranger ln -s /tmp/own "$path" ;;
      pipe) stranger sh -c "umask 0; mkfifo $path" ;;
      directory) stranger mkdir -m 777 "$path" ;;
    esac
    before=$(ls -A /tmp/own)
    code=0
    user timeout --kill-after=2 20 ./muster "$@" >/tmp/said 2>&1 </dev/null || code=$?
    said=$(tail -n 1 /tmp/said)
    [ $code != 79 ] || said=$(tail -n 2 /tmp/said | paste -sd" ")
    [ "$(ls -A /tmp/own)" = "$before" ] || { echo "the folder of the user has become: $(ls -A /tmp/own | paste -sd,)"; exit 1; }
    [ "$(cat /tmp/own/file)" = mine ] || { echo "the file of the user has become: $(head -c 200 /tmp/own/file | tr "\n" ";")"; exit 1; }
    [ $code != 124 ] && [ $code != 137 ] || { echo "it did not end: $said"; exit 1; }
    if [ -n "$expected" ]; then
      [[ "$code $said" == $expected ]] || { echo "it ended with $code $said"; exit 1; }
    else
      [ $code = 0 ] || grep -qF "${path##*/}" /tmp/said || { echo "it ended with $code: $said"; exit 1; }
    fi
  ' - "$@"
}
launch=(launch -n 2 --set log.level=debug)
writes=(-- sh -c 'echo out; echo err >&2')
map=(map --items /tmp/own/items.txt --output /tmp/logs)

exec 3>&1
check 'attack: 10,000 directories, links and pipes in /tmp and /dev/shm that are named like those of muster' littered
for kind in link pipe; do
  check "attack: a foreign $kind at log.file" foreign "$kind" /tmp/log '' "${launch[@]}" --set log.file=/tmp/log "${writes[@]}"
  check "attack: a foreign $kind in the log directory" foreign "$kind" /tmp/logs/rank0.0.gpu01.out '' \
    "${launch[@]}" --log-dir /tmp/logs "${writes[@]}"
  check "attack: a foreign $kind at the report" foreign "$kind" /tmp/report.json '' "${launch[@]}" --report /tmp/report.json "${writes[@]}"
done

# in_a_map KIND NAME [ERROR]: at /tmp/logs/NAME, for a map into /tmp/logs; without ERROR, the map succeeds.
in_a_map() {
  check "attack: a foreign $1 at $2 of a map" foreign "$1" "/tmp/logs/$2" "${3:+71 muster: error: $3}" "${map[@]}" "${writes[@]}"
}
of_another='this directory belongs to user 60124, and every user may write the one that it is in'
remove='(choose a map.output in a directory of your own or of your project)'
for name in .attempts .failed; do
  in_a_map link-to-folder $name "cannot use /tmp/logs/$name: the symbolic link \"$name\" belongs to user 60124 $remove"
  in_a_map pipe $name "cannot use /tmp/logs/$name: Not a directory $remove"
  in_a_map directory $name "cannot use /tmp/logs/$name: $of_another $remove"
done
# in_an_items_place KIND ERROR
in_an_items_place() {
  check "attack: a foreign $1 at item of a map" foreign "$1" /tmp/logs/item \
    "79 muster: error: item item failed (3 attempts; rank 0 on *): $2 (*muster: error: 0 of 1 items are done, 1 failed; --retry-failed attempts them again" "${map[@]}" "${writes[@]}"
}
for kind in link-to-folder pipe; do
  in_an_items_place $kind '/tmp/logs/item exists and is no result of a map'
done
in_an_items_place directory 'exit 0, but cannot rename to /tmp/logs/item: Operation not permitted: what is there belongs to user 60124'
root='rank 0 on gpu01'
remove='(give a journal in a directory of your own or of your project)'
in_a_map link-to-folder journal "$root: cannot open the journal /tmp/logs/journal: the symbolic link \"journal\" belongs to user 60124 $remove"
in_a_map pipe journal "$root: cannot open the journal /tmp/logs/journal: Not a directory $remove"
in_a_map directory journal "$root: cannot open the journal /tmp/logs/journal: $of_another $remove"
in_a_map link journal/000001.segment "$root: /tmp/logs/journal/000001.segment is a symbolic link: not followed"
in_a_map pipe journal/000001.segment "$root: /tmp/logs/journal/000001.segment is no plain file"
in_a_map link journal/lock
in_a_map pipe journal/lock

# The root of two ranks, which publishes its address in a file: it waits for the other rank.
publishes() {
  check "attack: a foreign $1 in rendezvous.directory" foreign "$1" /tmp/logs/muster-60123 \
    '75 muster: rank 0 on gpu01: error: the group did not form within 2s: *' \
    run --set timeouts.rendezvous=2s --rank 0 --world-size 2 --local-rank 0 --set rendezvous.method=file --set rendezvous.directory=/tmp/logs -- true
}
for kind in link-to-folder pipe directory; do publishes "$kind"; done
