# Sourced by `run`: nodes that fall silent in the middle of an endless evaluation.
# shellcheck shell=bash
# shellcheck disable=SC2154 # lib.sh and death_faults.sh set these

impatient=(--set liveness.heartbeat=200ms --set liveness.suspect_after=1s --set liveness.dead_after=3s)

# The processes of steps on a node, slurmstepd included.
processes_on() { inventory_of "$1" | grep -vxFf "$work/before" | awk '$2 == "process" { print $3 }'; }

# silent NAME WHAT SINCE: the others have named the ranks of gpu03, within two seconds after dead_after.
silent() {
  local others=0-7,12-15 text=': error: ranks 8-11 on gpu03 fell silent: nothing was heard for 3.'
  until_true 20 ended_so "$1" 69 "$4"
  all_said "$1" "$others" "$text"
  expect_like "the root's warning" "$(grep warning "$work/$1/0.err")" \
    'muster: rank 0 on gpu01: warning: nothing was heard of ranks 8-11 on gpu03 for 1.? s; given up after 3s'
  ended_within "$1" "$2" "$3" 5 8,9,10,11
}

stopped() {
  local pids since
  endless stopped "${impatient[@]}"
  mapfile -t pids < <(processes_on gpu03)
  since=$EPOCHREALTIME
  kill -STOP "${pids[@]}"
  silent stopped 'SIGSTOP of a node (dead_after 3s)' "$since" 0-7,12-15
  kill -CONT "${pids[@]}"
  finish stopped 69
  all_ended stopped 69 0-15
  # Awake again they learn that they were given up.
  all_said stopped 0-15 ': error: ranks 8-11 on gpu03 fell silent: nothing was heard for 3.'
  all_said stopped 8 'this process stood still for '
  nothing_left stopped
}

cut_off() {
  local since
  endless cut_off "${impatient[@]}"
  since=$EPOCHREALTIME
  "$here/../cluster/link" gpu03 down
  silent cut_off 'cable of a node (dead_after 3s)' "$since" 0-15
  "$here/../cluster/link" gpu03 up
  all_said cut_off 8-11 ': error: rank 0 on gpu01 fell silent: nothing was heard for 3.'
  finish cut_off 69
  all_ended cut_off 69 0-15
  nothing_left cut_off
}

check 'silence: a node that is stopped' stopped
check 'silence: a node whose cable is pulled' cut_off
