# Sourced by `run`: what Slurm signals reaches every program once, whether Slurm signals the task alone
# (proctrack/cgroup) or its whole tree (proctrack/linuxproc), the step or the batch script, by hand, because the time is
# nearly up, or because it takes the nodes back.
# shellcheck shell=bash
# shellcheck disable=SC2016 # the variables are the job's, not ours
# shellcheck disable=SC2034,SC2154 # lib.sh uses nodes; `run` sets here, top and files; `fresh` sets dir

# Writes down what it hears. When it is told to end it stays a second longer: it would hear a second one. A signal that comes
# between the condition and `wait` interrupts nothing: it does not sleep for long.
listener='dir=$1 over=
  heard() { echo "$1" >>"$dir/heard.$RANK"; }
  trap "heard usr1" USR1
  trap "heard int; over=yes" INT
  trap "heard term; over=yes" TERM
  : >"$dir/waiting/$RANK"
  while [ -z "$over" ]; do sleep 0.1 & wait $!; done
  sleep 1
  exit 0'

# listening SBATCH_FLAG...: four listeners in a step of a batch job; `job` is its number.
listening() {
  fresh
  submit -N2 --ntasks-per-node=2 "$@" <<EOT
[ -z "\$SLURM_RESTART_COUNT" ] || exit
trap 'kill -USR1 \$step' USR1
srun muster run -- sh -c '$listener' sh $dir 2>$dir/err & step=\$!
until wait \$step; [ \$? -le 128 ]; do :; done
wait \$step
EOT
  until_true 30 has_files "$dir/waiting" 4
}

# heard COUNT_AND_SIGNAL: by all programs together, so far.
heard() { [[ $(cat "$dir"/heard.? 2>/dev/null | sort | uniq -c | xargs) == "$1" ]]; }

# heard_in_all SIGNAL...: each program heard them, in this order, and nothing else.
heard_in_all() {
  expect 'signals heard' "$(cat "$dir"/heard.? | xargs)" "$* $* $* $*"
  until_true 20 nothing_remains
}

# told_all COUNT_AND_SIGNAL SECONDS
told_all() { until_true "$2" heard "$1" || { cat "$dir"/heard.? "$dir/err" && false; }; }

# signalled_by SCANCEL_FLAG...: USR1 by one of Slurm's ways, then the end.
signalled_by() {
  listening
  ctl scancel "$@" --signal=USR1 "$job"
  told_all '4 usr1' 20
  ctl scancel --signal=TERM "$job.0"
  until_true 30 test -e "$dir/code" || cat "$dir/out"
  heard_in_all usr1 term
  expect 'exit code' "$(cat "$dir/code")" 0
}

# Slurm takes the nodes back, and starts the job again some time later.
requeue_is_told_once() {
  listening --requeue
  ctl scontrol requeue "$job"
  told_all '4 term' 20
  heard_in_all term
  ctl scancel "$job"
}

# A job of a partition with more rights wants the nodes.
preemption_is_told_once() {
  local urgent
  listening --partition low --exclusive --requeue
  urgent=$(ctl sbatch --parsable --partition urgent --exclusive -N2 --output="$dir/urgent" --wrap 'echo got the nodes')
  told_all '4 term' 20
  heard_in_all term
  until_true 30 grep -q 'got the nodes' "$dir/urgent"
  ctl scancel "$job" "$urgent"
}

# srun passes on the second of two within a second, and then ends the step by other signals, at once where it is in a hurry: a
# try in which somebody was killed before says nothing about muster. Nobody hears it twice, and one try must be whole.
ctrl_c_is_told_once() {
  local try times
  for try in 1 2 3 4 5; do
    [[ $try -eq 1 ]] || rerun "srun killed ranks before they received SIGINT ($times)"
    fresh
    env --default-signal=INT "$top/tests/cluster/on" ctl srun -N2 --ntasks-per-node=2 muster run -- \
      sh -c "$listener" sh "$dir" 2>"$dir/err" &
    until_true 30 has_files "$dir/waiting" 4
    twice_within_a_second $! "$dir/err"
    wait $! || true
    until_true 20 next_start_clears
    times=$(grep -cx int "$dir"/heard.? | cut -d: -f2 | sort | uniq -c | xargs)
    [[ $times != '4 1' ]] || return 0
    expect_like "how often ranks heard of it, try $try" "$times" '@(|[1-4] 0|[1-3] 0 [1-3] 1|[1-3] 1)'
  done
  fail "no try of $try was whole"
}

# nearly_over SIGNAL_FLAG: of a minute, which is the least that a job can have; Slurm looks twice a minute. At the end of it
# Slurm tells every process to end, and again when it clears the job away: nothing is told more often than that.
nearly_over() {
  local rank
  listening --time=1 "$1"
  told_all '4 usr1' 90
  until_true 120 test -e "$dir/code" || cat "$dir/out"
  for rank in 0 1 2 3; do
    expect_like "what rank $rank heard" "$(xargs <"$dir/heard.$rank")" '@(usr1 term|usr1 term term)'
  done
  until_true 20 nothing_remains
}

# fails CODE SRUN_FLAG...: one program's failure is the step's, and is named.
fails() {
  local code=0
  fresh
  step "${@:2}" -N2 --ntasks-per-node=2 muster run -- \
    sh -c '[ "$RANK" = 1 ] || exec sleep 1000; echo oops >&2; exit 3' 2>"$dir/err" || code=$?
  expect_like 'exit code' "$code" "$1"
  expect_like 'messages' "$(cat "$dir/err")" '*rank 1 on gpu0? failed: exit 3*'
  until_true 10 nothing_remains
}

# Who does not listen is killed, with all that it started.
stubborn() {
  local file
  fresh
  expect_code 3 step -N2 --ntasks-per-node=2 muster run --set run.grace=1s -- sh -c 'trap "" TERM
    [ "$RANK" = 1 ] || { sleep 1000 & echo $! >"$1/ranks/$RANK"; wait; exit; }
    until [ -s "$1/ranks/0" ] && [ -s "$1/ranks/2" ] && [ -s "$1/ranks/3" ]; do sleep 0.1; done
    exit 3' sh "$dir" 2>"$dir/err"
  expect_like 'what was told' "$(cat "$dir/err")" \
    '*rank 1 on gpu01 failed: exit 3*ended because of it: ranks 0,2,3 by SIGKILL, after run.grace (1s)*'
  for file in "$dir"/ranks/?; do until_true 10 gone "$(cat "$file")"; done
}

# A program that writes a checkpoint for longer than run.grace is not killed: that is for Slurm to do, after KillWait. Who
# is waited for is in the log, once for all ranks.
saves_in_time() {
  fresh
  submit -N2 --ntasks-per-node=2 <<EOT
srun muster run --set run.grace=1s -- sh -c 'dir=\$1 over=
  trap "over=yes" TERM
  : >"\$dir/waiting/\$RANK"
  while [ -z "\$over" ]; do sleep 0.1 & wait \$!; done
  sleep 4
  echo saved >"\$dir/saved.\$RANK"' sh $dir 2>$dir/err
EOT
  until_true 30 has_files "$dir/waiting" 4
  ctl scancel --signal=TERM "$job.0"
  until_true 30 test -e "$dir/code" || cat "$dir/err"
  expect 'exit code' "$(cat "$dir/code")" 0
  expect 'what the programs did' "$(cat "$dir"/saved.? | sort | uniq -c | xargs)" '4 saved'
  expect 'what was said' "$(words "$dir/err" | grep '^muster: ')" \
    'muster: rank 0 on gpu01: warning: waiting for ranks 0-3 to exit; no exit within run.grace (1s) of SIGTERM'
}

# One rank dies because of the signal, which is not the end of those that write a checkpoint for longer than run.grace.
saves_although_one_dies() {
  fresh
  submit -N2 --ntasks-per-node=2 <<EOT
srun muster run --set run.grace=1s -- sh -c 'dir=\$1 over=
  : >"\$dir/waiting/\$RANK"
  [ "\$RANK" != 2 ] || exec sleep 1000
  trap "echo term >>\$dir/heard.\$RANK; over=yes" TERM
  while [ -z "\$over" ]; do sleep 0.1 & wait \$!; done
  sleep 6
  echo saved >"\$dir/saved.\$RANK"' sh $dir 2>$dir/err
EOT
  until_true 30 has_files "$dir/waiting" 4
  ctl scancel --signal=TERM "$job.0"
  until_true 30 test -e "$dir/code" || cat "$dir/err"
  expect 'exit code' "$(cat "$dir/code")" 143
  expect 'signals heard' "$(cat "$dir"/heard.? | sort | uniq -c | xargs)" '3 term'
  expect 'what the programs did' "$(cat "$dir"/saved.? | sort | uniq -c | xargs)" '3 saved'
  expect_like 'messages' "$(cat "$dir/err")" '*terminated: rank 2 on gpu02 received SIGTERM*'
  expect_like 'messages' "$(cat "$dir/err")" '*waiting for ranks 0,1,3 to exit; no exit within run.grace (1s) of SIGTERM*'
  until_true 10 nothing_remains
}

# on_each NAME FUNCTION [ARG...]: on all clusters, side by side.
on_each() {
  local proctrack
  for proctrack in "${proctracks[@]}"; do begin "signals, proctrack/$proctrack: $1" on_cluster "$proctrack" "${@:2}"; done
  finish_begun
}
on_cluster() {
  local -x TEST_CLUSTER=$TEST_CLUSTER-$1
  "${@:2}"
}

# Two partitions of the same nodes: one may take them from the other.
readonly preemption=(--conf PreemptType=preempt/partition_prio --conf PreemptMode=REQUEUE
  --conf 'PartitionName=low Nodes=ALL PriorityTier=1 GraceTime=10 State=UP'
  --conf 'PartitionName=urgent Nodes=ALL PriorityTier=10 State=UP')

check_signals() {
  local proctracks=(linuxproc cgroup) nodes=(ctl gpu01 gpu02) proctrack
  if ! mountpoint -q /sys/fs/cgroup/freezer; then
    skip 'signals, proctrack/cgroup' 'needs root of a machine with cgroup v1: Slurm 22.05 can use no other without systemd'
    proctracks=(linuxproc)
  fi
  for proctrack in "${proctracks[@]}"; do
    check "signals, proctrack/$proctrack: up" on_cluster "$proctrack" "$top/tests/cluster/up" 2 --proctrack "$proctrack" "${preemption[@]}"
  done
  on_each '--signal to the step' signalled_by
  on_each '--signal to the batch script' signalled_by --batch
  on_each 'scontrol requeue' requeue_is_told_once
  on_each 'preempted' preemption_is_told_once
  on_each 'Ctrl-C on srun' ctrl_c_is_told_once
  on_each 'a checkpoint that takes longer than run.grace' saves_in_time
  on_each 'the same, and a rank that writes none' saves_although_one_dies
  on_each 'a failure' fails 3
  # srun may kill those that are just ending.
  on_each 'a failure under srun -K' fails '@(3|137|143)' -K
  on_each 'a failure, and nobody listens' stubborn
  if [[ ${MUSTER_TESTS_LONG-} ]]; then
    on_each 'the time is nearly up, then it is' nearly_over --signal=USR1@10
    on_each 'the same, told to the batch script' nearly_over --signal=B:USR1@10
  fi
  for proctrack in "${proctracks[@]}"; do on_cluster "$proctrack" "$top/tests/cluster/down"; done
}
