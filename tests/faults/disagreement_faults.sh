# Sourced by `run`: ranks that do not agree on who they are or on what was asked for.
# shellcheck shell=bash
# shellcheck disable=SC2016 # the variables are the rank's
# shellcheck disable=SC2154 # lib.sh sets muster

# Nothing here waits for the deadline.
unhurried=(run --set timeouts.rendezvous=60s)

# explicit NAME SCRIPT: four ranks on two nodes; SCRIPT may change rank and size.
explicit() {
  step "$1" - -N2 --ntasks-per-node=2 -w 'gpu[01-02]' -- sh -c "rank=\$SLURM_PROCID size=4; $2"'
    exec "$@" --rank $rank --world-size $size --endpoint gpu01:62100 -- true' sh "$muster" "${unhurried[@]}"
}

# one_differs NAME RANK OPTION...
one_differs() {
  step "$1" - -- sh -c 'if [ $SLURM_PROCID = $0 ]; then exec "$@"; fi
    exec "$1" "$2" "$3" "$4" -- true' "$2" "$muster" "${unhurried[@]}" "${@:3}" -- true
}

# disagree NAME RANKS TEXT: every one of them ends with 76, and its file says why.
disagree() {
  finish "$1" 76
  all_ended "$1" 76 "$2"
  all_said "$1" "$2" ": error: $3"
  nothing_left "$1"
}

# Two processes call themselves rank 2; who came first is anybody's guess, their numbers too.
duplicate() {
  local said pids
  explicit duplicate 'if [ $rank = 3 ]; then rank=2; fi'
  disagree duplicate 0-3 'rank 2 is claimed twice: by pid '
  said=$(grep -oh 'by pid [0-9]* on gpu02' "$work"/duplicate/*.err | sort -u)
  pids=$(wc -l <<<"$said")
  expect "processes that were named ($said)" "$pids" 2
}

other_size() {
  explicit size 'if [ $rank = 3 ]; then size=5; fi'
  disagree size 0-3 'the ranks disagree on the world size: '
  expect_like 'what was said' "$(cat "$work/size"/[01].err)" '*: rank 3 on gpu02 has 5, rank [01] on gpu01 has 4 (run "muster resolve" on both to see where it comes from)'
}

other_setting() {
  one_differs setting 5 --set timeouts.collective=1h
  disagree setting 0-15 'the configurations differ in timeouts.collective: rank 5 on gpu02 has 1h, rank 0 on gpu01 has the default (give every rank the same file, flags and MUSTER_ variables; "muster config --explain" shows where a value comes from)'
}

other_backend() {
  one_differs backend 8 --set backend=socket
  disagree backend 0-15 'the ranks disagree on the backend: rank 8 on gpu03 has socket, rank 0 on gpu01 has auto (set the same backend everywhere)'
}

check 'disagreement: one rank twice' duplicate
check 'disagreement: another world size' other_size
check 'disagreement: another setting on one rank' other_setting
check 'disagreement: another backend on the leader of a node' other_backend

# gpu03 comes when all others know already, and would find nobody there.
told_late() {
  step late_node 8,9,10,11 -- sh -c \
    'if [ $SLURM_PROCID = 5 ]; then exec "$@" --set timeouts.collective=1h -- true; fi; exec "$@" -- true' \
    sh "$muster" "${unhurried[@]}"
  until_true 60 grep -qs 'waiting up to' "$work/late_node/0.err"
  open_gate late_node 4
  finish late_node 76
  all_ended late_node 76 0-15
  all_said late_node 0-15 ': error: the configurations differ in timeouts.collective: rank 5 on gpu02 has 1h, '
  expect_like 'what the root said first' "$(words "$work/late_node/0.err" | head -n 1)" \
    'muster: rank 0 on gpu01: warning: this group cannot form (the configurations differ in *); waiting up to 10.0 s to report this to @([4-9]|1[0-5]) ranks'
  nothing_left late_node
}
check 'disagreement: a node that comes late is told' told_late
