# Sourced by `run`: Ctrl-C.
# shellcheck shell=bash
# shellcheck disable=SC2016 # the variables are the rank's
# shellcheck disable=SC2154 # lib.sh and death_faults.sh set these

ctrl_c() { twice_within_a_second "$(<"$work/$1/srun.pid")" "$work/$1/srun.err"; }

# Where srun kills at once what is just ending, nobody of a node may be left to remove the place where its ranks meet.
clear_after_kill() {
  local node
  [[ $(<"$work/$1/srun.end") == 137 ]] || return 0
  for node in "${gpus[@]}"; do on "$node" sh -c 'rm -rf /dev/shm/muster-*'; done
  rm -rf "$work/$1/tmp"/muster-*
}

# The signal reaches all of them, or the failure of another rank that it ended; and once in a while srun
# kills at once what is just ending: others lose that rank.
while_forming() {
  local rank
  step forming - -- sh -c 'if [ $SLURM_PROCID = 15 ]; then exec tail -f /dev/null; fi; exec "$@"' \
    sh "$muster" run --set timeouts.rendezvous=60s -- true
  until_true 20 somebody_said forming 'missing gpu04: 15 (never connected)'
  ctrl_c forming
  until_true 10 has_ended forming
  expect_like 'exit code of srun' "$(<"$work/forming/srun.end")" '13[07]'
  for rank in {0..14}; do
    [[ -s $work/forming/$rank.end ]] || continue
    expect_like "end of rank $rank" "$(cut -d' ' -f2 "$work/forming/$rank.end")" '@(130|69)'
  done
  expect_like 'what the root said' "$(tail -n 1 "$work/forming/0.err")" 'muster: rank *@(ended*while the group was forming|interrupted: rank * received SIGINT)'
  [[ -n $(ranks_with forming 130) ]] || fail 'nobody ended of the signal'
  clear_after_kill forming
  nothing_left forming
}

# A try in which srun kills at once what is just ending (137) says nothing about muster; one of six must be whole.
while_running() {
  local try name said
  for try in 1 2 3 4 5 6; do
    name=running$try
    [[ $try -eq 1 ]] || rerun 'srun killed ranks that were ending (137)'
    endless "$name"
    ctrl_c "$name"
    until_true 20 has_ended "$name"
    clear_after_kill "$name"
    nothing_left "$name"
    [[ $(<"$work/$name/srun.end") == 137 ]] || break
  done
  finish "$name" 130
  all_ended "$name" 130 0-15
  said=$(grep -ohE ': error: (interrupted: )?rank .*' "$work/$name"/[0-9]*.err | sed 's/; the log of rank [0-9]* on gpu0[1-4] has the cause$//' | sort -u)
  # Slurm signals the program as well as its supervisor; where the program ends before that hears of it, it failed.
  expect_like 'what all said' "$said" \
    ': error: @(interrupted: rank * on gpu0? received SIGINT|rank * on gpu0? failed: signal 2 (Interrupt))'
  expect 'different lines' "$(wc -l <<<"$said")" 1
}

check 'interrupt: Ctrl-C while the group forms' while_forming
check 'interrupt: Ctrl-C while it runs' while_running
