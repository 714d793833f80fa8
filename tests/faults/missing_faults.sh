# Sourced by `run`: ranks that never start, or late.
# shellcheck shell=bash
# shellcheck disable=SC2154 # lib.sh sets muster

# The steps wait side by side: waiting costs nothing but time.
absent() { step "$1" "$2" -- "$muster" run --set timeouts.rendezvous=24s -- true; }
late() { step "$1" "$2" -- "$muster" run --set timeouts.rendezvous=600s -- true; }

hint='(raise timeouts.rendezvous to wait longer)'

# The others have ended at the deadline, while the missing ones still were missing.
gave_up() {
  until_true 50 ended_so "$1" 75 "$2"
  open_gate "$1"
  finish "$1" 75
}



# A line of the root's while it waits, and the sentence at the deadline: each rank has a file of its own and finds it there.
named_by_all() {
  local name=$1 others=$2 who=$3
  gave_up "$name" "$others"
  all_said "$name" "$others" "error: the group did not form within 24s: $who $hint"
  expect_like "the root's progress" "$(cat "$work/$name/0.err")" "*muster: rank 0 on gpu01: waiting *.? s: $who*error: *"
}

no_root() {
  gave_up root 1-15
  all_said root 1-3 "error: the root, rank 0 on gpu01, did not appear within 24s $hint"
  all_said root 4-15 'error: the root, rank 0 on gpu01, did not answer within 24s; 198.18.1.1:'
  all_said root 1,4,8,12 ' s: for the root, rank 0 on gpu01; 198.18.1.1:'
}

# comes_late NAME RANK TEXT: held until somebody has complained.
comes_late() {
  until_true 20 somebody_said "$1" "$3"
  open_gate "$1" 1
  finish "$1" 0
  all_ended "$1" 0 0-15
}


# Killed while the last node is still to come: the other ranks of its node report it. Of itself no rank could know.
killed() {
  local name=$1 rank=$2 error="error: rank $2 on gpu0$((1 + $2 / 4)) ended while the group was forming"
  until_true 30 somebody_said "$name" '12/16 ranks; missing gpu04: 12-15 (no contact with the node'
  # It has no program yet.
  kill -KILL "$(pgrep -P "$(<"$work/$name/$rank.pid")")"
  until_true 20 somebody_said "$name" "$error"
  open_gate "$name" 4
  finish "$name" 137
  all_ended "$name" 137 "$rank"
  all_ended "$name" 69 "$3"
}

absent follower 7
absent leader 8
absent node 12,13,14,15
absent root 0
late late_leader 8
late late_root 0
late killed_root 12,13,14,15
late killed_leader 12,13,14,15

check 'killed: the root, before a node has come' killed killed_root 0 1-15
check 'killed: the leader of a node, before another has come' killed killed_leader 4 0-3,5-15
check 'missing: a rank' named_by_all follower 0-6,8-15 '15/16 ranks; missing gpu02: 7 (never connected)'
check 'missing: the leader of a node' named_by_all leader 0-7,9-15 '15/16 ranks; missing gpu03: 8 (never connected)'
check 'missing: a node' named_by_all node 0-11 '12/16 ranks; missing gpu04: 12-15 (no contact with the node, which gpu01 reaches)'
check 'missing: the root' no_root
check 'late: the leader of a node, its ranks have gone to the root' comes_late late_leader 8 \
  '15/16 ranks; missing gpu03: 8 (never connected)'
check 'late: the root' comes_late late_root 0 'for the root, rank 0 on gpu01'
# A process that is killed leaves its directory in TMPDIR.
check 'missing: nothing is left' nothing_left follower leader node root late_leader late_root
