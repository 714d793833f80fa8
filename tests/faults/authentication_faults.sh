# Sourced by `run`: ranks that cannot prove who they are.
# shellcheck shell=bash
# shellcheck disable=SC2016 # the variables are the rank's
# shellcheck disable=SC2154 # lib.sh sets muster

secret=$("$muster" secret) other_secret=$("$muster" secret)

# unlike NAME SCRIPT OPTION...: on gpu03 SCRIPT runs first; it may change what is started ("$@").
unlike() {
  step "$1" - -- sh -c 'if [ $SLURMD_NODENAME = gpu03 ]; then :; '"$2"'; fi; exec "$@" -- true' sh \
    "$muster" run --set timeouts.rendezvous=16s "${@:3}"
}

# In a mount namespace of its own: slurmd there still needs munge.
without_munge='exec unshare --mount sh -c "mount -t tmpfs none /run/munge; eval \"\$0\"; exec \"\$@\" -- true" "$left" "$@"'
dead_socket='python3 -c "import socket; socket.socket(1).bind(\"/run/munge/munge.socket.2\")"'

MUSTER_SECRET=$secret unlike other_secret "export MUSTER_SECRET=$other_secret" --set rendezvous.auth=secret
MUSTER_SECRET=$secret unlike other_method 'set -- "$@" --set rendezvous.auth=secret'
unlike no_munge "left=:; $without_munge"
unlike dead_munge "left='$dead_socket'; $without_munge"
unlike no_secret 'set -- "$@" --set rendezvous.auth=secret'
MUSTER_SECRET=$secret unlike leader_secret '[ $SLURM_PROCID != 8 ] || unset MUSTER_SECRET' --set rendezvous.auth=secret \
  --set timeouts.rendezvous=100s

# refused NAME WHY-THE-OTHERS WHY-GPU03
refused() {
  local missing='the group did not form within 16s: 12/16 ranks; missing gpu03: 8-11 (no contact with the node, which gpu01 reaches)'
  finish "$1" 77
  all_ended "$1" 75 0-7,12-15
  all_ended "$1" 77 8-11
  all_said "$1" 0-7,12-15 "error: $missing"
  expect_like 'what the others said' "$(grep 'did not form' "$work/$1/0.err" | tail -n 1)" "*$missing$2 (raise timeouts.rendezvous to wait longer)"
  expect_like 'what a leader said' "$(tail -n 1 "$work/$1/8.err")" "muster: *error: $3"
  expect_like 'what a follower said' "$(<"$work/$1/9.err")" "muster: rank 9 on gpu03: error: $3"
}

not_joined='the root, rank 0 on gpu01, was not joined within 16s: 198.18.1.1:*'
turned_away='; rejected: 198.18.1.3:*'

check 'authentication: another secret on one node' refused other_secret \
  "$turned_away has another job secret than rank 0 on gpu01, or the handshake was changed on the way" \
  "$not_joined has another job secret than this rank, or * (export MUSTER_SECRET once in the batch script, before srun: it must be the same on every rank)"
check 'authentication: another method on one node' refused other_method \
  "$turned_away uses auth secret, rank 0 on gpu01 munge" \
  "$not_joined uses auth munge, this rank secret (set rendezvous.auth to the same method on every rank; *)"
check 'authentication: no munge on one node' refused no_munge \
  "$turned_away uses auth none, rank 0 on gpu01 munge" \
  'the ranks may be on several nodes and cannot authenticate each other: this node has no munge socket at /run/munge/munge.socket.2 and no job secret is known (export MUSTER_SECRET=$(muster secret) in the batch script, before srun; or *)'
check 'authentication: munge does not answer on one node' refused dead_munge \
  "$turned_away does not accept rank 0 on gpu01's proof of identity" \
  "$not_joined munged does not answer at /run/munge/munge.socket.2: * (start munged on this node, or set rendezvous.auth: secret on every rank)"
check 'authentication: no secret on one node' refused no_secret \
  "$turned_away uses auth none, rank 0 on gpu01 munge" \
  'rendezvous.auth is secret, but no job secret is known (export MUSTER_SECRET=$(muster secret) in the batch script, before srun)'
# The other ranks of its node have one: they report it, and no rank waits for the deadline.
leader_without_secret() {
  finish leader_secret 77
  all_ended leader_secret 77 0-15
  all_said leader_secret 0-7,9-15 'error: rank 8 on gpu03 cannot prove its identity: rendezvous.auth is secret, but no job secret is known'
}
check 'authentication: no secret for the leader of one node' leader_without_secret
check 'authentication: nothing is left' nothing_left other_secret other_method no_munge dead_munge no_secret leader_secret

# Where another user can look (command lines), and what a program inherits. The pattern is in no command line itself.
secret_is_kept() {
  local rank shown
  printf '%s' "$secret" >"$work/secret"
  chmod 600 "$work/secret"
  MUSTER_SECRET=$secret endless kept --set rendezvous.auth=secret --set log.level=debug
  shown=$(grep -lsFf "$work/secret" /proc/[0-9]*/cmdline | tr '\n' ' ')
  expect 'command lines with the secret' "$shown" ''
  shown=$(grep -lsFf "$work/secret" "$work/kept"/*.{out,err} | tr '\n' ' ')
  expect 'output with the secret' "$shown" ''
  for rank in {0..15}; do
    grep -qsFf "$work/secret" "/proc/$(supervisor_of kept "$rank")/environ" ||
      fail "rank $rank: its muster run has no secret: this test sees nothing"
    ! grep -qsFf "$work/secret" "/proc/$(program_of kept "$rank")/environ" ||
      fail "rank $rank: its program has the secret in its environment"
  done
  kill -KILL "$(program_of kept 5)"
  finish kept 137
  shown=$(grep -lsFf "$work/secret" "$work/kept"/*.{out,err} | tr '\n' ' ')
  expect 'output with the secret, at the end' "$shown" ''
  nothing_left kept
}
check 'authentication: the secret shows nowhere' secret_is_kept

# ---- rendezvous.protect

# evaluated NAME PROTECT: an evaluation of all ranks; `found`: how many headers of its data passed gpu02's network in clear.
evaluated() {
  local dir=$work/$1_wire
  mkdir "$dir"
  mkfifo "$dir/stay"
  on gpu02 "$here/wire.py" MUS1 <"$dir/stay" >"$dir/said" 2>&1 &
  exec {stay}>"$dir/stay"
  until_true 10 grep -q listening "$dir/said"
  step "$1" - -- "$muster" run --set rendezvous.protect="$2" -- "$bin/deploy/examples/digits" \
    --data "$root/deploy/examples/data/digits.csv"
  finish "$1" 0
  all_ended "$1" 0 0-15
  exec {stay}>&-
  wait
  nothing_left "$1"
  found=$(tail -n 1 "$dir/said")
}

sealed_and_plain() {
  local found
  evaluated sealed all
  expect 'headers in clear' "$found" 0
  expect_like 'result' "$(cat "$work/sealed"/*.out)" '*accuracy*'
  evaluated plain control
  [[ $found -gt 0 ]] || fail 'no header in clear with rendezvous.protect: control: this test sees nothing'
}
check 'authentication: with protect: all an evaluation leaves no header in clear' sealed_and_plain

plain_rank() {
  step plain_rank - -- sh -c 'protect=all; [ $SLURM_PROCID != 5 ] || protect=control
    exec "$@" --set rendezvous.protect=$protect -- true' sh "$muster" run --set timeouts.rendezvous=60s
  finish plain_rank 76
  all_ended plain_rank 76 0-15
  all_said plain_rank 0-15 'error: the configurations differ in rendezvous.protect: rank 5 on gpu02 has '
  nothing_left plain_rank
}
check 'authentication: one rank that does not seal its data is refused' plain_rank
