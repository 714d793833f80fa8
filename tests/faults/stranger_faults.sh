# Sourced by `run`: programs of others on the ports and sockets that muster would take.
# shellcheck shell=bash
# shellcheck disable=SC2016 # the variables are the rank's
# shellcheck disable=SC2154 # lib.sh sets muster

# A handshake that is waited for would end the rendezvous: whoever forms the group did not wait.
patient=(--set timeouts.handshake=600s --set timeouts.rendezvous=120s --set timeouts.connect=600s)

# stranger NAME ON-OPTION... -- STRANGER-OPTION...: runs until end_stranger. It writes its pid to NAME/ready.
stranger() {
  local dir=$work/$1 where=()
  shift
  mkdir "$dir"
  chmod 777 "$dir"
  mkfifo "$dir/stay"
  while [[ $1 != -- ]]; do where+=("$1") && shift; done
  shift
  on "${where[@]}" "$here/stranger.py" "$@" <"$dir/stay" >"$dir/said" 2>&1 &
  exec {stay}>"$dir/stay"
  until_true 10 test -s "$dir/ready" || fail "the stranger did not start: $(<"$dir/said")"
}

end_stranger() {
  exec {stay}>&-
  wait
}

formed() {
  finish "$1" 0
  all_ended "$1" 0 0-15
}

seven_of_eight() {
  stranger seven gpu01 -- "$work/seven/ready" 62000-62007 62005
  step one_free - -- "$muster" run "${patient[@]}" --set rendezvous.ports=62000-62007 -- true
  formed one_free
  end_stranger
  expect 'what was said' "$(words "$work"/one_free/*.err)" ''
  nothing_left one_free
}

all_eight() {
  stranger eight gpu01 -- "$work/eight/ready" 62010-62017
  step none_free - -- "$muster" run "${patient[@]}" --set rendezvous.ports=62010-62017 -- true
  until_true 20 grep -qs 'one to become free' "$work/none_free/0.err"
  kill -USR1 "$(<"$work/eight/ready")"
  formed none_free
  end_stranger
  expect_like 'what was said' "$(words "$work"/none_free/*.err)" 'muster: rank 0 on gpu01: warning: no port to listen on among 62010-62017: cannot bind \[::\]:620??: Address already in use; waiting for one to become free'
  nothing_left none_free
}

# all_but_one NAME FIRST LAST FREE: strangers on all ports but one of a range that is longer than what is tried at first.
all_but_one() {
  local said
  stranger "$1" gpu01 -- "$work/$1/ready" "$2-$3" "$4"
  step "$1_free" - -- "$muster" run "${patient[@]}" --set "rendezvous.ports=$2-$3" -- true
  formed "$1_free"
  end_stranger
  said=$(words "$work/$1_free"/*.err)
  # Where the port is one of the first eight there is nothing to say.
  [[ -z $said ]] || expect_like 'what was said' "$said" \
    "muster: rank 0 on gpu01: warning: the first * ports of this launch are taken; listening on port $4"
  nothing_left "$1_free"
}

# Rank 15 comes when the scanner has been at the root's port; the port of its store is open before that.
scanned() {
  step scanned 15 -- "$muster" run "${patient[@]}" --set rendezvous.ports=62020-62027 -- true
  stranger scanner gpu02 -- --knock "$work/scanner/ready" gpu01 62020-62027
  until_true 20 grep -qs 'rejected a connection.*198\.18\.1\.2:' "$work/scanned/0.err"
  open_gate scanned 1
  formed scanned
  end_stranger
  expect_like 'what the root said' "$(cat "$work/scanned/0.err")" '*rejected a connection*198.18.1.2:*'
  nothing_left scanned
}

check 'stranger: on seven of eight ports, silent and talking' seven_of_eight
check 'stranger: on all ports, until one is freed' all_eight
check 'stranger: on 63 of 64 ports for ever' all_but_one sixty_three 62100 62163 62139
check 'stranger: on 512 of 513 ports for ever' all_but_one many 63200 63712 63500
check 'stranger: a scanner at the port of the root' scanned

# On gpu02 another user has made whatever can be made, before the leader comes: directories that look like muster's, and
# the leader's name in such directories.
squatted() {
  local dir=$work/squatted
  step squatted 4 -- sh -c '[ $SLURM_PROCID != 5 ] || "$0" >"$1/names" || exit; shift; exec "$@"' \
    "$bin/tests/faults/meeting_names" "$dir" "$muster" run --set timeouts.rendezvous=30s -- true
  until_true 10 test -s "$dir/names"
  chmod 1777 "$dir/tmp"
  stranger squatter --user nobody gpu02 -- --squat "$work/squatter/ready" "$EUID" "$(head -n 1 "$dir/names")" \
    /dev/shm "$dir/tmp"
  open_gate squatted 1
  formed squatted
  end_stranger
  expect 'what was said' "$(words "$work"/squatted/*.err)" ''
  nothing_left squatted
}

# Of a job that forms and works, no socket inside the node can be opened by another user.
knocked() {
  step knocked 15 -- "$muster" run --set timeouts.rendezvous=60s -- "$bin/deploy/examples/digits" \
    --data "$root/deploy/examples/data/digits.csv" --repeat 20
  stranger knocker --user nobody gpu01 -- --connect "$work/knocker/ready" "$work/knocker/counts"
  open_gate knocked 1
  formed knocked
  end_stranger
  expect 'sockets tried, and opened' "$(<"$work/knocker/counts")" 'some 0'
  # The digits tell how far they are when they take longer than a second.
  expect 'what was said' "$(words "$work"/knocked/*.err | grep -v '^digits: [0-9]* % after ')" ''
  nothing_left knocked
}

check "stranger: another user in the ranks' directories" squatted
check "stranger: another user at every socket of the node" knocked
