# Sourced by `run`: what a running group says about itself, and that a job that stands still is not a dead one.
# shellcheck shell=bash
# shellcheck disable=SC2016,SC2154 # the variables are the job's; lib.sh and `run` set the others

# laggards HOW RANK WHAT...: 16 ranks wait for one in the background; `job` is their job. HOW: library or run.
laggards() {
  local how=$1 prefix=()
  shift
  [[ $how == library ]] || prefix=(muster run --)
  fresh
  step -N4 --ntasks-per-node=4 -w 'gpu[01-04]' sh -c "$note_job" sh "$dir" "${prefix[@]}" \
    bazel-bin/tests/launchers/laggard "$@" >"$dir/out" 2>"$dir/err" &
  laggards=$!
  job_starts 16
}

# What a rank does first, so that others can ask about its job.
note_job='echo "$SLURM_JOB_ID" >"$1/ranks/$SLURM_PROCID.new" && mv "$1/ranks/$SLURM_PROCID.new" "$1/ranks/$SLURM_PROCID"
  shift; exec "$@"'
# job_starts RANKS
job_starts() {
  until_true 20 has_files "$dir/ranks" "$1"
  read -r job <"$dir/ranks/0"
}

# status OPTION...: as a user asks, in a step of its own.
status() { ctl srun --input=none --overlap --jobid="$job" -N1 -n1 -w "${asked:-gpu03}" muster status "$@"; }

says() { status >"$dir/status" 2>&1 && grep -qF -- "$1" "$dir/status"; }

# released CODE: the laggard comes, and all end so.
released() {
  local code=0
  : >"$go"
  wait "$laggards" || code=$?
  expect "exit code ($(head -c 300 "$dir/err"))" "$code" "$1"
}

late_rank() {
  laggards "$1" 5 "$go"
  until_true 20 says 'AllReduce #2 f32[4] waits '
  expect_like 'the line' "$(tail -n 1 "$dir/status")" \
    'AllReduce #2 f32?4? waits * s for rank 5 (gpu02), last seen in Barrier #1'
  expect_like 'the others' "$(grep -F 'in AllReduce' "$dir/status" | head -n 1)" \
    '*0-4,6-15  gpu?01-04?  in AllReduce #2 f32?4? * s'
  expect_like 'the late one' "$(grep -F 'last in Barrier #1 ' "$dir/status")" '  5 *gpu02 * in the program, *'
  # The root says the same by itself, again when the wait has doubled.
  until_true 20 grep -qF 'AllReduce #2 f32[4] waits ' "$dir/err"
  expect_like 'the log' "$(grep -m 1 -F 'waits' "$dir/err")" \
    'muster: rank 0 on gpu01: AllReduce #2 f32?4? waits * s for rank 5 (gpu02), last seen in Barrier #1'
  released 0
}

late_peer() {
  laggards library 5 receive "$go"
  until_true 20 says 'Recv #1 f32[4] on rank 0 (gpu01) waits '
  released 0
}

# A rank that cannot answer is told of, not waited for.
stopped_rank() {
  local pid
  laggards library 5 "$go"
  until_true 20 says 'for rank 5 (gpu02)'
  pid=$(status --json |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["groups"][0]["ranks"][5]["process"]["pid"])')
  kill -STOP "$pid"
  until_true 20 says 'rank 5 (gpu02), stopped (SIGSTOP or a debugger)'
  kill -CONT "$pid"
  until_true 20 says 'rank 5 (gpu02), last seen in Barrier #1'
  released 0
}

# Programs that know nothing of muster.
foreign_programs() {
  fresh
  step -N4 --ntasks-per-node=4 -w 'gpu[01-04]' sh -c "$note_job" sh "$dir" \
    muster run -- sh -c 'until test -e "$1/go"; do sleep 0.1; done' sh "$dir" >"$dir/out" 2>"$dir/err" &
  laggards=$!
  job_starts 16
  until_true 20 says '  0-15   gpu[01-04]  its program runs without a group  '
  released 0
}

forming() {
  fresh
  step -N2 --ntasks-per-node=1 -w 'gpu[01-02]' sh -c "$note_job" sh "$dir" \
    sh -c '[ "$SLURM_PROCID" = 0 ] || until test -e "$1/go"; do sleep 0.1; done
      exec muster run -- true' sh "$dir" >"$dir/out" 2>"$dir/err" &
  laggards=$!
  job_starts 2
  asked=gpu01 until_true 20 says 'the group is still forming: 1/2 ranks; missing gpu02: 1 ('
  released 0
}

no_group() {
  local code=0
  on gpu01 muster status >"$files/status" 2>&1 || code=$?
  expect 'exit code' "$code" 64
  expect 'what it says' "$(<"$files/status")" "muster: error: no group of this user has a rank on gpu01 (ask on a \
node of the job: srun --overlap --jobid=JOB -N1 -n1 muster status)"
}

# Under `muster run` stacks come from every node.
stacks() {
  laggards run 5 "$go"
  until_true 20 says 'for rank 5 (gpu02)'
  status --stacks >"$dir/stacks"
  expect_like 'whose' "$(grep -F ', pid ' "$dir/stacks")" 'rank 5 on gpu02, pid * in the program, last in Barrier #1'
  if [[ -n $(command -v eu-stack gdb pstack) ]]; then
    grep -qF 'main' "$dir/stacks" || fail "no frame of main: $(<"$dir/stacks")"
  else
    grep -qF 'no user stack: none of eu-stack, gdb and pstack is installed' "$dir/stacks"
  fi
  released 0
}

# watch NAME OPTION...: muster status --watch in the background, in a step of its own; `watch`: its process.
watch() {
  on ctl srun --input=none --overlap --jobid="$job" -N1 -n1 -w gpu03 muster status --watch=200ms "${@:2}" >"$dir/$1" 2>"$dir/$1.err" &
  watch=$!
}
# group_ended NAME: with 0 and a sentence.
group_ended() {
  local code=0
  wait "$watch" || code=$?
  expect "exit code of $1" "$code" 0
  expect_like "the last line of $1" "$(grep '^muster: ' "$dir/$1.err")" 'muster: the group has ended (slurm:*)'
}
lines() { [[ $(grep -cE -- "$2" "$dir/$1") -ge $3 ]]; }

# The job lasts longer than its group, as that of a batch script does.
watched_to_the_end() {
  local blocks objects terminal
  fresh
  shut_gate
  ctl salloc -N4 --ntasks-per-node=4 -w 'gpu[01-04]' sh -c '
    echo "$SLURM_JOB_ID" >"$1/job.new" && mv "$1/job.new" "$1/job"
    srun muster run -- bazel-bin/tests/launchers/laggard 5 "$2"
    flock "$1/gate" true' sh "$dir" "$go" >"$dir/out" 2>"$dir/err" &
  laggards=$!
  until_true 20 test -e "$dir/job"
  read -r job <"$dir/job"
  until_true 20 says 'for rank 5 (gpu02)'
  watch blocks
  blocks=$watch
  watch objects --json
  objects=$watch
  watch_on_terminal "$dir/terminal"
  terminal=$watch
  until_true 20 lines blocks '^....-..-..T..:..:..\.....?[+-]..:..' 3
  until_true 20 lines blocks '^AllReduce #2 .* waits .* for rank 5 \(gpu02\)' 2
  until_true 20 lines objects '^\{"time":".*Z","groups":\[\{.*\}\]\}$' 3
  until_true 20 lines terminal 'every 200ms; Ctrl-C ends' 3
  : >"$go"
  watch=$blocks group_ended blocks
  watch=$objects group_ended objects
  python3 -c 'import json, sys; [json.loads(line) for line in sys.stdin]' <"$dir/objects"
  wait "$terminal" || fail "on a terminal: $?"
  grep -qF 'muster: the group has ended (slurm:' "$dir/terminal" || fail "no last sentence: $(tail -n 3 "$dir/terminal")"
  # In place: from the second frame on the cursor goes up by the lines of the one before.
  grep -qP '\x1b\[[1-9][0-9]*A..:..:.. every' "$dir/terminal" || fail 'it does not redraw in place'
  open_gate
  released 0
}

watch_on_terminal() {
  script --quiet --flush --return --command "stty rows 12 columns 60; exec $top/tests/cluster/on ctl srun --overlap --jobid=$job \
    -N1 -n1 -w gpu03 --pty muster status --watch=200ms" "$1" </dev/null >/dev/null 2>&1 &
  watch=$!
}

watch_interrupted() {
  local code=0
  laggards run 5 "$go"
  until_true 20 says 'for rank 5 (gpu02)'
  on gpu03 timeout --preserve-status --signal=INT 2 muster status --watch=100ms >"$dir/watch" 2>"$dir/watch.err" || code=$?
  expect 'exit code' "$code" 0
  expect 'standard error' "$(<"$dir/watch.err")" ''
  expect_like 'refused' "$(on gpu03 muster status --watch --stacks 2>&1)" 'muster: error: *--watch*exclude each other (*'
  expect_like 'no interval' "$(on gpu03 muster status --watch=soon 2>&1)" 'muster: error: --watch "soon" is no duration from 100ms to 1h (*'
  released 0
}

# suspended HOW: for longer than dead_after, and than a collective may take. Begun beside others.
suspended() {
  local go=$files/check$begun/go
  laggards "$1" 5 "$go"
  until_true 20 says 'for rank 5 (gpu02)'
  ctl scontrol suspend "$job"
  sleep 20
  ctl scontrol resume "$job"
  until_true 20 grep -q 'this process was stopped for ' "$dir/err"
  until_true 20 says 'for rank 5 (gpu02)'
  released 0
}

# A rank that ends early is reported as exactly that. HOW WHAT CODE MESSAGE
early() {
  local code=0
  laggards "$1" 5 "$2" "$go"
  wait "$laggards" || code=$?
  expect "exit code ($(head -c 300 "$dir/err"))" "$code" "$3"
  grep -qF "$4" "$dir/err" || fail "nobody said '$4' but: $(sort "$dir/err" | uniq -c | sort -rn | head -n 4)"
  : >"$go"
}

# It has done its part and left: the root's reports about those that wait may be older than that.
done_its_part() {
  laggards "$1" 1 reduce "$go"
  until_true 20 grep -qF 'Reduce #42 f32[4] waits ' "$dir/err" || fail "said: $(tail -n 5 "$dir/err")"
  : >"$go.part"
  until_true 20 grep -qE 'Reduce #42 f32\[4\] waits .* for ranks 2' "$dir/err" || fail "said: $(tail -n 5 "$dir/err")"
  released 0
}

all_others_say() { [[ $(grep -cF -- "$1" "$dir/err") == 15 ]]; }

# The leader of gpu02 dies and leaves a worker behind that has its connections.
forked_worker() {
  laggards library 4 fork "$go"
  # The heartbeats would take 30 s; and srun itself waits for the worker.
  until_true 15 all_others_say 'laggard: rank 4 on gpu02 ended without leaving its group'
  released 137
}

job_end() {
  local code=0 go=$files/check$begun/go
  fresh
  SLURM_JOB_END_TIME=$(($(date +%s) + 24)) step -N2 --ntasks-per-node=1 -w 'gpu[01-02]' \
    muster run -- bazel-bin/tests/launchers/laggard 1 "$go" >"$dir/out" 2>"$dir/err" || code=$?
  expect 'exit code' "$code" 75
  grep -qF "warning: cut to the job's end, in " "$dir/err" || fail "$(<"$dir/err")"
  grep -qF 'AllReduce #2 f32[4] did not finish before the end of the job: waiting for rank 1 (gpu02), last seen in Barrier #1' "$dir/err" ||
    fail "$(<"$dir/err")"
  : >"$go"
}

# It leaves and goes on, and no connection reports that. One rank for each node. WHAT
left_apart() {
  local code=0
  fresh
  MUSTER_TIMEOUTS_COLLECTIVE=60s MUSTER_TIMEOUTS_INIT=60s MUSTER_LIVENESS_STRAGGLER_AFTER=1h step -N4 --ntasks-per-node=1 \
    -w 'gpu[01-04]' muster run -- bazel-bin/tests/launchers/laggard 3 "$1" "$go" >"$dir/out" 2>"$dir/err" || code=$?
  expect "exit code ($(head -c 300 "$dir/err"))" "$code" 69
  grep -qE 'rank 3 on gpu04 left the group before AllReduce #1' "$dir/err" || fail "said: $(<"$dir/err")"
}

# A leave message of the former group is none of this one.
left_before() {
  local code=0
  fresh
  step -N4 --ntasks-per-node=1 -w 'gpu[01-04]' muster run -- bazel-bin/tests/launchers/laggard 3 again "$dir/go" \
    >"$dir/out" 2>"$dir/err" &
  laggards=$!
  until_true 20 grep -qE 'AllReduce #1 f32\[4\] waits [4-9]' "$dir/err"
  : >"$dir/go"
  wait "$laggards" || code=$?
  expect "exit code ($(head -c 300 "$dir/err"))" "$code" 0
}

check_status() {
  local how
  # What a laggard waits for.
  go=$files/check/go
  export MUSTER_LIVENESS_STRAGGLER_AFTER=1s
  for how in library run; do check "status: a rank is late ($how)" late_rank "$how"; done
  check 'status: a peer is late' late_peer
  check 'status: a rank is stopped' stopped_rank
  check 'status: programs without muster' foreign_programs
  check 'status: a group that forms' forming
  check 'status: no group' no_group
  check 'status --stacks' stacks
  check 'status --watch, until the group has ended' watched_to_the_end
  check 'status --watch, interrupted' watch_interrupted
  check 'a rank exits with 0 (library)' early library exit 69 'rank 5 on gpu02 ended without leaving its group'
  check 'a rank exits with 0 (run)' early run exit 69 \
    'error: rank 5 on gpu02 exited with 0 without leaving its group'
  check 'a rank leaves before the last collective' early library leave 69 'rank 5 on gpu02 left the group before AllReduce #2'
  for how in library run; do check "a rank leaves after its part ($how)" done_its_part "$how"; done
  check 'a rank leaves, without a connection, and goes on' left_apart apart
  check 'a rank leaves, without a connection, for its next group' left_apart next
  check 'the ranks have left the group before' left_before
  check "a leader's worker outlives it" forked_worker
  begin "the job's end" job_end
  export MUSTER_LIVENESS_HEARTBEAT=200ms MUSTER_LIVENESS_SUSPECT_AFTER=1s MUSTER_LIVENESS_DEAD_AFTER=5s
  export MUSTER_TIMEOUTS_COLLECTIVE=18s
  for how in library run; do begin "scontrol suspend, then resume ($how)" suspended "$how"; done
  finish_begun
  unset MUSTER_LIVENESS_HEARTBEAT MUSTER_LIVENESS_SUSPECT_AFTER MUSTER_LIVENESS_DEAD_AFTER \
    MUSTER_LIVENESS_STRAGGLER_AFTER MUSTER_TIMEOUTS_COLLECTIVE
}
