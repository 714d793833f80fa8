# Sourced by `run`: processes that are killed in the middle of an endless evaluation.
# shellcheck shell=bash
# shellcheck disable=SC2154 # lib.sh sets muster

supervisor_of() { "$here/family.py" "$work/$1" | awk -v rank="$2" '$1 == rank { print $2 }'; }
program_of() { "$here/family.py" "$work/$1" | awk -v rank="$2" '$1 == rank { print $3 }'; }

# killed NAME program|supervisor RANK NODE CODE WHAT: the others end within three seconds and say WHAT.
killed() {
  local name=$1 what=$2 rank=$3 node=$4 code=$5 others=0-15 since
  endless "$name"
  since=$EPOCHREALTIME
  kill -KILL "$("${what}_of" "$name" "$rank")"
  until_true 20 has_ended "$name"
  if [[ $what == supervisor ]]; then
    others=$(seq 0 15 | grep -vx "$rank" | fold_ranks)
    all_ended "$name" 137 "$rank"
    finish "$name" 137
  else
    finish "$name" "$code"
  fi
  all_ended "$name" "$code" "$others"
  all_said "$name" "$others" ": error: rank $rank on $node $6"
  ended_within "$name" "kill -9 of the $what of rank $rank ($7)" "$since" 3 "$rank"
  nothing_left "$name"
}

check 'death: the program of a rank' killed program program 5 gpu02 137 'failed: signal 9 (Killed)' 'a follower'
check 'death: the program of rank 0' killed program_root program 0 gpu01 137 'failed: signal 9 (Killed)' 'the root'
check 'death: the supervisor of a rank' killed follower_dead supervisor 5 gpu02 69 'ended without a goodbye' 'a follower'
check 'death: the supervisor of the leader of a node' killed leader_dead supervisor 8 gpu03 69 'ended without a goodbye' 'a leader'
check 'death: the supervisor of rank 0' killed root_dead supervisor 0 gpu01 69 'ended without a goodbye' 'the root'
