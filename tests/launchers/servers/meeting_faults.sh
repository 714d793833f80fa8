# Sourced by `run`: a rank is missing, is killed, and strangers come, where the ranks meet by what their launcher keeps:
# mpirun's server, the store of torchrun's agents. The like under srun is in ../faults.
# shellcheck shell=bash
# shellcheck disable=SC2016 # the variables are the job's, not ours
# shellcheck disable=SC2034,SC2154 # lib.sh uses patience; `run` sets here, top and files; `fresh` sets dir and member; keys
# is for ssh.sh; by_store is torch_store.sh's

# unseen LAUNCH SIZE COMMAND...: on each of so many ranks. The launcher sees no rank fail before all have ended, and so ends
# none: what the others do is muster's doing alone. What it thinks of it in the end is not asked.
unseen() { "$1" "$here/kept_apart" "$dir" "${@:2}" || true; }

# outcome SIZE CODE_OF_3 CODE MESSAGE: how rank 3 ended, how all others did, and what each of them says.
outcome() {
  local rank
  for ((rank = 0; rank < $1; rank++)); do
    if [[ $rank == 3 ]]; then
      expect 'exit code of rank 3' "$(cat "$dir/code.3")" "$2"
      continue
    fi
    expect "exit code of rank $rank" "$(cat "$dir/code.$rank")" "$3"
    expect_like "message of rank $rank" "$(cat "$dir/err.$rank")" "$4"
  done
}

# missing LAUNCH SIZE: rank 3 runs all the time, and muster never does there. None of these launchers says on which node it is.
missing() {
  fresh
  MUSTER_TIMEOUTS_RENDEZVOUS=12s unseen "$1" "$2" sh -c '[ "$TEST_RANK" = 3 ] || exec muster run -- true
    until [ "$(find "$0" -name "code.*" | wc -l)" = "$1" ]; do sleep 0.1; done' "$dir" "$(($2 - 1))"
  outcome "$2" 0 75 "*the group did not form within 12s: $(($2 - 1))/$2 ranks; missing 3 (raise timeouts.rendezvous to wait longer)*"
}

all_gone() {
  local rank
  for rank in "$dir"/ranks/*; do until_true 20 gone "$(cat "$rank")" || return; done
  until_true 20 nothing_remains
}

# killed_unseen LAUNCH SIZE WHICH CODE MESSAGE
killed_unseen() {
  fresh
  unseen "$1" "$2" muster run -- "$here/kills_rank_3" "$dir" "$3"
  outcome "$2" 137 "$4" "*rank 3 on gpu02 $5*"
  all_gone
}

# killed_seen LAUNCH WHICH MESSAGE: the launcher ends all ranks when it sees one fail, at times before another has told why. It
# must end with an error of its own, and not for having taken too long.
killed_seen() {
  local code=0
  fresh
  said_apart "$1" muster run -- "$here/kills_rank_3" "$dir" "$2" >"$dir/err" 2>&1 || code=$?
  [[ $code -ne 0 && $code -ne 124 ]] || fail "exit code $code"
  expect_like message "$(cat "$dir"/err*)" "$3"
  all_gone
}

# strangers_at_root LAUNCH SIZE IMPOSTOR: who comes to the root while it waits for rank 3: one who sends whatever comes to
# his mind, all the time, and one who claims to be rank 3 (below). The group forms all the same.
strangers_at_root() {
  local pid port stay knocker
  fresh
  unseen "$1" "$2" sh -c '[ "$TEST_RANK" != 3 ] || { env -0 >"$0/new" && mv "$0/new" "$0/environment"; }
    until [ "$TEST_RANK" != 3 ] || [ -e "$0/go" ]; do sleep 0.1; done
    exec "$@"' "$dir" muster run -- env TOLD='- -' "${member[@]}" &
  pid=$!
  trap ': >"$dir/go"' EXIT
  until_true 60 root_listens
  port=$(root_port)
  exec {stay}> >(on gpu04 "$top/tests/faults/matrix/knocker.py" scan "gpu01:$port")
  knocker=$!
  until_true 20 grep -qs 'rejected a connection.*198\.18\.1\.4:' "$dir/err.0"
  "$3" "$2" "$port" 2>"$dir/said" || fail "$(cat "$dir/said")"
  : >"$dir/go"
  wait "$pid"
  exec {stay}>&-
  wait "$knocker" || true
  expect 'exit codes' "$(cat "$dir"/code.? | sort | uniq -c | xargs)" "$2 0"
  evaluated "$2"
}
# The store for the programs of the group listens there as well, and on loopback.
root_port() {
  on gpu01 ss -Hltn 'sport >= 61000 and sport <= 64999' | awk -F '[ :]+' '
    $4 == "127.0.0.1" { store = $5 }
    $4 != "127.0.0.1" { ports[$5] }
    END { for (port in ports) if (store && port != store) print port }'
}
root_listens() { [[ $(root_port) ]]; }

# One who has found the port and knows the launch's size, not its name.
who_found_the_port() {
  MUSTER_SECRET=$(muster secret) expect_code 75 on gpu04 muster run --rank 3 --world-size "$1" --local-rank 0 \
    --endpoint "gpu01:$2" --set rendezvous.auth=secret --set timeouts.rendezvous=10s -- true
  expect_like 'what the impostor heard' "$(cat "$dir/said")" "*198.18.1.1:$2 belongs to another launch*"
}

# One who has all that rank 3 has, but for the secret, on a node of its own: on that of rank 3, the same user's sockets are open to it.
who_has_another_secret() {
  local -a environment
  until_true 20 test -e "$dir/environment"
  mapfile -d '' environment <"$dir/environment"
  expect_code 77 on gpu04 env -i "${environment[@]}" SLURMD_NODENAME=gpu04 MUSTER_SECRET="$(muster secret)" \
    muster run --set rendezvous.auth=secret --set timeouts.rendezvous=15s -- true
  expect_like 'what the impostor heard' "$(cat "$dir/said")" "*198.18.1.1:$2 has another job secret than this rank*"
}

# cells NAME LAUNCH SIZE IMPOSTOR...
cells() {
  local impostor
  check "$1: kill -9 of a program" killed_unseen "$2" "$3" program 137 'failed: signal 9 (Killed)'
  check "$1: kill -9 of a supervisor" killed_unseen "$2" "$3" supervisor 69 'ended without leaving its group'
  check "$1: kill -9 of a program, and the launcher sees it" killed_seen "$2" program '*rank 3 on gpu02 failed: signal 9 (Killed)*'
  for impostor in "${@:4}"; do check "$1: strangers at the root, one ${impostor//_/ }" strangers_at_root "$2" "$3" "$impostor"; done
}

check_meeting_faults() {
  local patience=120 keys=$files/ssh OMP_NUM_THREADS=1 PATH=$PATH
  export OMP_NUM_THREADS PATH
  check 'mpirun alone: a server on each node' sshd_on_all
  check "torchrun's store: PyTorch" "$top/tests/python/venv"
  local with_torch
  with_torch=$("$top/tests/python/venv" 2>/dev/null)/bin:$PATH || return 0
  begin 'MPICH alone: a rank is missing' missing mpich_alone 6
  begin 'Open MPI alone: a rank is missing' missing openmpi_alone 6
  PATH=$with_torch begin "torchrun's store: a rank is missing" missing by_store 4
  finish_begun
  cells 'MPICH alone' mpich_alone 6 who_found_the_port
  cells 'Open MPI alone' openmpi_alone 6 who_found_the_port
  PATH=$with_torch
  cells "torchrun's store" by_store 4 who_found_the_port who_has_another_secret
}
