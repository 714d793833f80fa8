# Sourced by `run`: one rank ends badly, and all end with it, promptly and with its name.
# shellcheck shell=bash
# shellcheck disable=SC2016 # the variables are the job's, not ours
# shellcheck disable=SC2154 # `run` sets here and files; `fresh` sets dir and member

# watched PROGRAM...: eight members of it in the background; the exit code of each muster goes to DIR/code.RANK.
watched() {
  fresh
  step -N4 --ntasks-per-node=2 -w 'gpu[01-04]' sh -c \
    'trap : TERM; dir=$1; shift; muster run -- "$@"; echo $? >"$dir/code.$SLURM_PROCID"' sh "$dir" "${member[@]}" "$@" \
    >"$dir/out" 2>"$dir/err" &
  watched=$!
}

codes() { cat "$dir"/code.? | xargs; }
# What they said, without who said it, and without the block at the end.
said() { sed -n 's/^muster: rank [0-7] on gpu0[1-4]: //p' <(words "$dir/err") | grep -v 'error: the run failed after' | sort -u; }
# The block, which is the root's and comes once.
block() { sed -n '/error: the run failed after/,$ { /^muster: /p }' "$dir/err"; }

# killed RANK WHOSE CODES MESSAGE: within seconds where the bound is for a loaded machine; tests/faults measures.
killed() {
  local began
  watched sleep 1000
  until_true 20 has_files "$dir/ranks" 8
  kill -KILL "$(of_rank "$dir" "$1" "$2")"
  began=$SECONDS
  wait "$watched"
  [[ $((SECONDS - began)) -le 16 ]] || fail "the others ended after $((SECONDS - began)) s"
  expect 'exit codes' "$(codes)" "$3"
  expect 'messages' "$(said)" "error: $4"
  nothing_remains
}

# exits RANK
exits() {
  watched sh -c '[ "$RANK" = "$1" ] || exec sleep 1000; echo "no such model: x" >&2; echo "giving up" >&2; exit 3' sh "$1"
  wait "$watched"
  expect 'exit codes' "$(codes)" '3 3 3 3 3 3 3 3'
  expect_like messages "$(said)" "error: rank $1 on gpu0? failed: exit 3"
  expect_like block "$(block)" "muster: rank 0 on gpu01: error: the run failed after *: rank $1 on gpu0? failed: exit 3
muster:   the last lines of rank $1 on gpu0?:
muster:     no such model: x
muster:     giving up
muster:   ended because of it: ranks * by SIGTERM
muster:   resolve *, rendezvous *, run *s"
  nothing_remains
}

ends_well() {
  watched true
  wait "$watched"
  expect 'exit codes' "$(codes)" '0 0 0 0 0 0 0 0'
  expect 'messages' "$(words "$dir/err")" ''
}

not_there() {
  fresh
  expect_code 127 step -N2 --ntasks-per-node=1 muster run -- ./nothing 2>"$dir/err"
  expect messages "$(said)" 'error: rank 0 on gpu01: cannot start "./nothing": No such file or directory'
}

# A control group of its own with little memory, under whichever hierarchy this machine has.
in_little_memory() {
  local group=/sys/fs/cgroup/memory/muster-test-$$ limit=memory.limit_in_bytes code=0
  if [[ ! -d ${group%/*} ]]; then
    group=/sys/fs/cgroup/muster-test-$$ limit=memory.max
    echo +memory >/sys/fs/cgroup/cgroup.subtree_control || return
  fi
  mkdir "$group" && echo 100M >"$group/$limit" || return
  [[ $limit != memory.max ]] || echo 0 >"$group/memory.swap.max"
  (echo "$BASHPID" >"$group/cgroup.procs" && exec "$@") || code=$?
  rmdir "$group"
  return "$code"
}

out_of_memory() {
  fresh
  expect_code 137 in_little_memory timeout 60 muster launch -n 2 -- \
    sh -c '[ $RANK = 1 ] || exec sleep 1000; exec tail /dev/zero' 2>"$dir/err"
  expect_like messages "$(cat "$dir/err")" '*error: rank 1 on * failed: signal 9 (Killed), out of memory
*'
}

# The report, whether all went well, somebody failed or somebody never came.
reports() {
  fresh
  step -N4 --ntasks-per-node=2 muster run --report "$dir/well" -- true
  expect 'when all is well' "$(field "$dir/well" '["outcomes"], r["failure"], r["exit_status"]')" "({'ok': '0-7'}, None, 0)"
  step -N4 --ntasks-per-node=2 muster run --report "$dir/bad" -- sh -c '[ $RANK != 5 ] || exit 3; exec sleep 1000' || true
  expect 'when rank 5 fails' "$(field "$dir/bad" '["outcomes"], r["failure"]["node"], r["exit_status"]')" \
    "({'failed': '5', 'terminated': '0-4,6,7'}, 'gpu03', 3)"
  step -N4 --ntasks-per-node=2 sh -c '[ $SLURM_PROCID != 5 ] || exit 0
    exec muster run --set timeouts.rendezvous=10s --report "$0" -- true' "$dir/missing" || true
  expect 'when rank 5 is missing' "$(field "$dir/missing" '["outcomes"], r["group"], r["ranks"][5]["node"]')" \
    "({'missing': '5', 'not_started': '0-4,6,7'}, None, 'gpu03')"
  expect 'what else is there' "$(compgen -G "$dir/.muster-report*")" ''
}
field() { python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); print(eval("(r" + sys.argv[2] + ")"))' "$@"; }

# A rank that gives up has run.grace to end, as the others have.
gives_up() {
  fresh
  expect_code 69 step -N1 --ntasks-per-node=2 muster run -- \
    "$files/root/bazel-bin/tests/launchers/laggard" 1 abandon "$dir/left" 2>"$dir/err"
  expect 'what it left' "$(cat "$dir/left")" 'cleaned up'
  expect_like 'what was said' "$(words "$dir/err")" 'muster: rank 0 on gpu01: error: rank 1 on gpu01 gave up*'
}

# Who has a file of its own finds there why it ended; a mistake that all have is told once in one place.
own_files() {
  fresh
  expect_code 3 step -N4 --ntasks-per-node=2 -o "$dir/out-%t" muster run -- \
    sh -c '[ $RANK != 5 ] || exit 3; exec sleep 1000' 2>"$dir/err"
  expect 'what rank 6 says' "$(words "$dir/out-6")" \
    'muster: rank 6 on gpu04: error: ending because rank 5 on gpu03 failed: exit 3; the log of rank 0 on gpu01 has the cause'
  expect 'what rank 5 says' "$(words "$dir/out-5")" \
    'muster: rank 5 on gpu03: error: rank 5 on gpu03 failed: exit 3; the log of rank 0 on gpu01 has the cause'
  expect 'the first line of rank 0' "$(words "$dir/out-0" | head -n 1)" \
    'muster: rank 0 on gpu01: error: rank 5 on gpu03 failed: exit 3'
  expect_code 3 step -N2 --ntasks-per-node=2 sh -c 'exec muster run -- sh -c "exit 3" 2>>"$0"' "$dir/shared" 2>"$dir/err"
  expect 'lines in a file that they share' "$(grep -c 'error: .*failed: exit 3$' "$dir/shared")" 2
}

all_wrong() {
  fresh
  expect_code 78 step -N4 --ntasks-per-node=2 muster run --set no.such=1 -- true 2>"$dir/err"
  expect_like 'what was said' "$(grep -v ' warning: \|^srun: ' "$dir/err")" 'muster: rank 0 on gpu01: error: *no.such*'
  expect 'lines' "$(grep -c 'error: .*no\.such' "$dir/err")" 1
  expect_code 78 step -N4 --ntasks-per-node=2 -o "$dir/out-%t" muster run --set no.such=1 -- true 2>"$dir/err"
  expect 'files that say it' "$(grep -l 'error: .*no\.such' "$dir"/out-? | wc -l)" 8
}

no_room() {
  fresh
  expect_code 0 step -N2 --ntasks-per-node=1 muster run --set log.file=/dev/full --set log.format=json --report "$dir/none/x" \
    -- true 2>"$dir/err"
  # The first examination of the path may come after the end of a short run.
  expect_like events "$(field_of_each event "$dir/err" | grep -vx waiting | sort | uniq -c | xargs)" \
    '1 ended 1 formed 1 log_failed [12] report_failed'
}
field_of_each() { python3 -c 'import json, sys; [print(json.loads(line)[sys.argv[1]]) for line in open(sys.argv[2])]' "$@"; }

# Whether Slurm signals the task or its whole tree, a program hears of it once.
signalled() {
  watched sh -c 'trap "echo term >>$1/heard.$RANK; exit 0" TERM; : >"$1/waiting/$RANK"
    while :; do sleep 1000 & wait; done' sh "$files/check"
  until_true 20 has_files "$dir/waiting" 8
  ctl scancel --signal=TERM "$(cut -d' ' -f13 "$dir/ranks/0").0"
  wait "$watched"
  expect 'signals heard' "$(cat "$dir"/heard.? | xargs)" 'term term term term term term term term'
  expect 'exit codes' "$(codes)" '0 0 0 0 0 0 0 0'
  nothing_remains
}

cancelled() {
  fresh
  submit -N4 --ntasks-per-node=2 <<<"srun muster run -- ${member[*]} sleep 1000"
  until_true 20 has_files "$dir/ranks" 8
  ctl scancel "$job"
  until_true 10 nothing_remains
}

interrupted() {
  fresh
  timeout 60 env --default-signal=INT "$top/tests/cluster/on" ctl \
    srun -N4 --ntasks-per-node=2 muster run -- "${member[@]}" sleep 1000 2>"$dir/err" &
  until_true 20 has_files "$dir/ranks" 8
  kill -TERM $!
  wait $! || true
  until_true 10 next_start_clears
}

# On one node and on two: all programs exit with 0. Rank 1 has not written its file, then it has.
lacks_a_file() {
  local nodes
  for nodes in 1 2; do
    fresh
    expect_code 79 step -N"$nodes" --ntasks-per-node=2 muster run --expect "$dir/out.\${rank}" -- \
      sh -c '[ $RANK = 1 ] || echo x >"$0.$RANK"' "$dir/out" 2>"$dir/err"
    expect_like 'the failure' "$(<"$dir/err")" "*run.expect is not met: $dir/out.1 does not exist*"
    step -N"$nodes" --ntasks-per-node=2 muster run --expect "$dir/out.\${rank}" -- sh -c 'echo x >"$0.$RANK"' "$dir/out"
  done
}

# The root says which node it is.
no_place_for_sockets() {
  local program
  program=$(readlink -f "$(command -v muster)")
  fresh
  expect_code 71 step -N2 --ntasks-per-node=1 -w 'gpu[01-02]' unshare -m sh -c 'if [ "$SLURM_PROCID" = 1 ]; then
      for place in /dev/shm /tmp; do mount --bind "$place" "$place" && mount -o remount,bind,ro "$place" || exit; done
      unset TMPDIR
    fi
    exec "$0" run -- sleep 100' "$program" 2>"$dir/err" || fail "$(<"$dir/err")"
  expect_like 'what was said' "$(<"$dir/err")" \
    '*muster: rank 0 on gpu01: error: rank 1 on gpu02: no directory for a socket of this user: *Read-only file system*'
}

# The programs of a map end one after the other with 80: the first ends no other.
paused() {
  fresh
  expect_code 80 step -N2 --ntasks-per-node=2 muster run --max-restarts 1 -- \
    sh -c '[ $RANK != 0 ] || { until [ -s "$0/err" ]; do sleep 0.05; done; : >"$0/saved"; }; exit 80' "$dir" 2>"$dir/err"
  expect 'lines' "$(words "$dir/err" | grep -v '^srun: ' | sed 's/rank [1-3] on gpu0[1-4]/RANK/')" \
    'muster: rank 0 on gpu01: RANK exited with 80: the time is up, and work is left (start the same command again: it continues with the rest)'
  test -e "$dir/saved"
}

check_failures() {
  local rank node
  # The root, the leader of another node, and one that only its leader knows. Each of them meets each fault in the matrix of
  # ../faults as well.
  for rank in 0 4 5; do
    node=gpu0$((rank / 2 + 1))
    [[ $rank != 0 && -z ${MUSTER_TESTS_LONG-} ]] ||
      check "kill -9: the program of rank $rank" killed "$rank" pid '137 137 137 137 137 137 137 137' \
        "rank $rank on $node failed: signal 9 (Killed)"
    [[ $rank != 4 && -z ${MUSTER_TESTS_LONG-} ]] ||
      check "kill -9: the supervisor of rank $rank" killed "$rank" supervisor \
        "$(for other in {0..7}; do [[ $other == "$rank" ]] && echo 137 || echo 69; done | xargs)" \
        "rank $rank on $node ended without leaving its group"
    [[ $rank != 5 && -z ${MUSTER_TESTS_LONG-} ]] || check "exit 3: rank $rank" exits "$rank"
  done
  check 'a program that ends well' ends_well
  begin 'report' reports
  check 'a program that is not there' not_there
  check 'out of memory' out_of_memory
  check 'no place for sockets' no_place_for_sockets
  check 'a rank that gives up' gives_up
  check 'run.expect: a file is missing' lacks_a_file
  check 'the time is up' paused
  check 'a log file of its own' own_files
  check 'a mistake that all ranks have' all_wrong
  check 'full disk: log.file and report' no_room
  finish_begun
  check 'scancel --signal=TERM' signalled
  check 'scancel' cancelled
  check 'srun ended' interrupted
}
