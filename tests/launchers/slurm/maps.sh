# Sourced by `run`: a queue of items for all ranks (`muster map`), its journal, and how it goes on.
# shellcheck shell=bash
# shellcheck disable=SC2016 # the variables are the items'
# shellcheck disable=SC2154 # `run` sets files; `fresh` sets dir

# map_step SRUN-OPTION... -- OPTION... -- CMD...: its lines are in $dir/err.
map_step() {
  local options=()
  while [[ $1 != -- ]]; do options+=("$1") && shift; done
  shift
  step "${options[@]}" muster map --items "$dir/items.txt" --output "$dir/out" "$@" 2>"$dir/err"
}

# forty: q1 to q40, and what one rank would make of them.
forty() {
  fresh
  seq -f 'q%g' 40 >"$dir/items.txt"
}

journal() { muster journal "$dir/out/journal" "$@"; }

# expect_items COUNT: so many have ended, each once.
expect_items() {
  expect 'items that have ended' "$(journal --json | grep -o '"key":"[^"]*"' | sort -u | wc -l)" "$1"
  expect 'records' "$(journal --json | wc -l)" "$1"
}

# No item ends before each node has begun one.
shared() {
  forty
  map_step -N3 --ntasks-per-node=2 -- -- sh -c 'touch "$0/{node}"; for node in gpu01 gpu02 gpu03; do
    until [ -e "$0/$node" ]; do sleep 0.05; done; done; echo "{item} by {rank} on {node}" >answer; echo out of {item}' "$dir/waiting"
  expect_items 40
  expect 'answers' "$(cat "$dir"/out/q*/answer | wc -l)" 40
  expect 'output of q7' "$(cat "$dir/out/q7/stdout")" 'out of q7'
  expect 'nodes at work' "$(cut -d' ' -f5 "$dir"/out/q*/answer | sort -u | xargs)" 'gpu01 gpu02 gpu03'
}

given_up() {
  forty
  expect_code 79 map_step -N2 --ntasks-per-node=2 -- --retries 1 -- sh -c 'echo no model >&2; [ {item} != q7 ]'
  expect_items 40
  expect_like 'who failed' "$(<"$dir/err")" '*error: item q7 failed (2 attempts; rank [0-3] on gpu0[1-4]): exit 1 *no model*'
  expect 'tasks that end so' "$(grep -c 'Exited with exit code 79' "$dir/err")" 1
}

# What a killed rank had in hand is done by the others, which wait for its end. The root is not killed: all end with it.
goes_on() {
  forty
  expect_code 137 map_step -N2 --ntasks-per-node=2 -- -- sh -c 'if [ {rank} = 2 ]; then touch "$0"; kill -9 $PPID; fi
    until [ -e "$0" ]; do sleep 0.05; done; echo {item} >answer' "$dir/killed"
  expect_items 40
  grep -qE 'warning: ranks? 2(,3)? on gpu0[1-4] ended without leaving its group\)?; [0-9]+ of its items go to other ranks' "$dir/err"
  expect 'answers' "$(cat "$dir"/out/q*/answer | sort -V | xargs)" "$(seq -f 'q%g' 40 | xargs)"
}

resumed() {
  forty
  expect_code 137 map_step -N1 -n1 -- -- sh -c 'echo {item} >answer; [ {item} != q15 ] || [ -e "$0" ] || kill -9 $PPID' "$dir/again"
  touch "$dir/again"
  map_step -N4 --ntasks-per-node=2 -- -- sh -c 'echo {item} >answer; [ {item} != q15 ] || [ -e "$0" ] || kill -9 $PPID' "$dir/again"
  expect_items 40
  expect_like 'what was told' "$(<"$dir/err")" '*of 40 items were done by earlier runs*'
  expect 'runs' "$(find "$dir/out/journal" -name '*.segment' | wc -l)" 2
  expect_code 76 map_step -N1 -n1 -- -- sh -c 'echo another command'
}

second_run() {
  local first
  forty
  shut_gate
  map_step -N1 -n1 -w gpu01 -- -- flock "$dir/gate" true &
  first=$!
  until_true 30 test -e "$dir/out/journal/000001.segment"
  expect_code 64 step -N1 -n1 -w gpu02 muster map --items "$dir/items.txt" --output "$dir/out" -- flock "$dir/gate" true \
    2>"$dir/second"
  open_gate
  wait "$first"
  expect_like 'who is at work' "$(<"$dir/second")" '*gpu01*'
  expect_items 40
}

# As on Lustre or NFS without locks: a run at work shows by its segment, which changes. A root that is stopped does not; when it wakes
# after the next run, nothing of it counts.
without_locks() {
  local first root command=("$here/without_locks" muster map --output out --items items.txt
    -- sh -c 'echo $PPID >"{pwd}/root.new"; mv "{pwd}/root.new" "{pwd}/root"; until [ -e "{pwd}/go" ]; do sleep 0.05; done; echo {item}')
  forty
  cd "$dir" || return
  step -N1 -n1 -w gpu01 "${command[@]}" 2>"$dir/first" &
  first=$!
  until_true 30 test -e root
  root=$(<root)
  expect_code 64 step -N1 -n1 -w gpu02 "${command[@]}" 2>"$dir/second"
  expect_like 'who is at work' "$(<"$dir/second")" "*another run is at work on the journal $dir/out/journal: process $root on gpu01*"
  kill -STOP "$root"
  touch go
  step -N2 --ntasks-per-node=1 -w 'gpu[02-03]' "${command[@]}" 2>"$dir/next"
  expect_like 'the run before' "$(<"$dir/next")" "*000001.segment: its run did not close it (process $root on gpu01*"
  expect_items 40
  kill -CONT "$root"
  expect_code 71 wait "$first"
  expect_like 'the root that wakes' "$(<"$dir/first")" "*the directory $dir/out/.attempts/*/q1.1.0 was removed while its program ran (leave *"
  expect_items 40
  expect 'output' "$(cat out/q*/stdout | sort -V | xargs)" "$(seq -f 'q%g' 40 | xargs)"
}

# The programs of a node that has no space fail one after the other: not a fault of their items.
full_disk() {
  forty
  mkdir "$dir/small"
  expect_code 71 step -N1 -n1 unshare -m sh -c 'mount -t tmpfs -o size=256k none "$0" || exit
    muster map --items "$1" --output "$0/out" -- sh -c "head -c 20000 /dev/zero >big" || code=$?
    muster journal "$0/out/journal" verify --json >"$0.json"
    exit "$code"' "$dir/small" "$dir/items.txt" 2>"$dir/err"
  expect_like 'what was said' "$(<"$dir/err")" "*$dir/small/out*"
  expect_like 'items' "$(<"$dir/small.json")" '*"poisoned":0*'
  expect_like 'items' "$(<"$dir/small.json")" '*"whole":true*'
}

# `import muster`, with and without muster run.
resident() {
  local start
  for start in '' 'muster run --'; do
    fresh
    # shellcheck disable=SC2086 # words
    step -N2 --ntasks-per-node=2 $start python3 "$top/deploy/examples/map.py" 200 --journal "$dir/journal" >"$dir/said"
    expect 'what was said' "$(<"$dir/said")" '176 of 200 answers are correct'
    expect 'records' "$(muster journal "$dir/journal" --json | wc -l)" 200
  done
}

# What `status --json`, or a report, has of the one map.
map_numbers='import json, sys
top = json.load(sys.stdin)
[one] = (top["groups"][0] if "groups" in top else top)["maps"]
ranks = one["ranks"]
assert all(0 <= rank["utilisation"] <= 1 for rank in ranks), ranks
assert one["seconds"] > 0 and one["utilisation"]["min"] <= one["utilisation"]["max"], one
print(one["state"], one["committed"], one["left"], one["at_work"], [item["index"] for item in one["longest_at_work"]],
    len(one["slowest"]), sum(rank["committed"] for rank in ranks), sorted({rank["node"] for rank in ranks}))'

# seen COMMAND...: a map whose item 6 waits for the gate, asked for on a node without the root.
seen() {
  local map
  shut_gate
  step -N2 --ntasks-per-node=2 -w 'gpu[01-02]' sh -c "$note_job" sh "$dir" "$@" 2>"$dir/err" &
  map=$!
  job_starts 4
  asked=gpu02 until_true 30 says '39 of 40 done; 1 at work, 0 more'
  expect_like 'what is at work' "$(grep -F '  at work ' "$dir/status")" '  at work   number 6: * (rank [0-3] on gpu0[12])'
  expect_like 'who is busy' "$(grep -F '  busy ' "$dir/status")" '  busy      * % of the time (median; * %); least: rank * %'
  expect 'numbers' "$(asked=gpu02 status --json | python3 -c "$map_numbers")" "at_work 39 1 1 [6] 5 39 ['gpu01', 'gpu02']"
  open_gate
  wait "$map"
}

seen_at_work() {
  forty
  seen muster map --items "$dir/items.txt" --output "$dir/out" -- sh -c '[ {item} != q7 ] || exec flock "$0" true' "$dir/gate"
  expect_items 40
}

seen_in_report() {
  fresh
  seen muster run --report "$dir/report.json" -- python3 -c 'import fcntl, sys, muster
def work(item):
    if item == 6:
        with open(sys.argv[1]) as gate: fcntl.flock(gate, fcntl.LOCK_EX)
with muster.init():
    muster.map(work, range(40), name="seen")' "$dir/gate"
  expect 'the report' "$(python3 -c "$map_numbers" <"$dir/report.json")" "over 40 0 0 [] 5 40 ['gpu01', 'gpu02']"
}

map_job_over() { [[ $(ctl squeue -h -j "$job" -o %T) == '' ]]; }

# Two models and three tasks; a job has the time for one item a rank: three jobs after each other. Slurm may send its signal
# half a minute early.
sweep() {
  fresh
  cat >"$dir/sweep.yaml" <<'EOF'
map:
  items: {model: [small, large], task: [arc, gsm8k, mmlu]}
  command: [sh, -c, 'sleep 60; echo "{{\"accuracy\": 1}}" >scores.json']
  expect: ["scores.json:accuracy"]
EOF
  trap 'cat "$dir/log"' EXIT
  (cd "$dir" && ctl sbatch --parsable --time=2 --signal=TERM@5 --ntasks-per-node=1 --output="$dir/log" "$top/deploy/sbatch/map.sbatch" \
    "$dir/sweep.yaml" "$dir/out") >"$dir/job"
  read -r job <"$dir/job"
  until_true 480 map_job_over
  expect_items 6
  expect 'scores' "$(cat "$dir"/out/model=*,task=*/scores.json | sort | uniq -c | xargs)" '6 {accuracy: 1}'
  expect 'runs' "$(find "$dir/out/journal" -name '*.segment' | wc -l)" 3
  # The last job begins all that is left.
  expect 'jobs that end too soon' "$(grep -o 'no further item of the map is begun, [0-9]* are left' "$dir/log" | grep -o '[0-9]*' | xargs)" '4 2'
}

# A variable of the user that is called as one of the script: Slurm exports it to the job.
sweep_ends() {
  fresh
  printf 'map:\n  items: [q1, q2]\n  command: ["true"]\n' >"$dir/sweep.yaml"
  trap 'cat "$dir/log"' EXIT
  job=$(cd "$dir" && code=3 ctl sbatch --parsable --ntasks-per-node=1 --output="$dir/log" "$top/deploy/sbatch/map.sbatch" \
    "$dir/sweep.yaml" "$dir/out")
  until_true 60 map_job_over
  expect_items 2
  expect_like 'the job' "$(ctl scontrol show job "$job")" '*ExitCode=0:0*'
}

# One item ends, in the first of the jobs. The others never do, so that the second job is the last one.
sweep_stops() {
  local restart
  fresh
  cat >"$dir/sweep.yaml" <<'EOF'
map:
  items: [q1, q2, q3, q4]
  command: [sh, -c, '[ {item} = q1 ] || {{ : >"{pwd}/at-work-${{SLURM_RESTART_COUNT:-0}}"; exec sleep 1000; }}']
EOF
  trap 'ctl scancel "$job" 2>/dev/null; cat "$dir/log"' EXIT
  job=$(cd "$dir" && ctl sbatch --parsable --ntasks-per-node=1 --output="$dir/log" "$top/deploy/sbatch/map.sbatch" "$dir/sweep.yaml" "$dir/out")
  for restart in 0 1; do
    until_true 60 test -e "$dir/at-work-$restart"
    until_true 30 expect_items 1
    ctl scancel --signal=TERM "$job" # of the steps alone, as by --signal
  done
  until_true 60 map_job_over
  expect_items 1
  expect_like 'the job' "$(ctl scontrol show job "$job")" '*Restarts=1 *ExitCode=80:0*'
  expect 'the last line' "$(tail -n 1 "$dir/log")" "not queued again: of $dir/out nothing was done"
  expect 'runs' "$(find "$dir/out/journal" -name '*.segment' | wc -l)" 2
}

check_maps() {
  export PYTHONPATH=$top/bootstrap/python LD_LIBRARY_PATH=$files/root/bazel-bin/bootstrap/c
  check 'map: items of six ranks' shared
  check 'map: an item that fails' given_up
  check 'map: a rank that is killed' goes_on
  check 'map: resumed by more ranks' resumed
  check 'map: a second run on one journal' second_run
  check 'map: a file system without locks' without_locks
  check 'map: no space is left' full_disk
  check 'map: import muster' resident
  check 'map: in muster status' seen_at_work
  check 'map: in muster status, and in the report' seen_in_report
  check 'map.sbatch: one job, and a variable called code' sweep_ends
  check 'map.sbatch: a job without progress is the last one' sweep_stops
  [[ -z ${MUSTER_TESTS_LONG-} ]] || check 'map.sbatch: several jobs' sweep
  unset PYTHONPATH LD_LIBRARY_PATH
}
