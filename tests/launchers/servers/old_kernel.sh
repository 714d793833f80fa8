# Sourced by `run`: jobs without the system calls that are newer than Linux 4.18 (../old_kernel). The filter is around the
# muster command in the step, and so around its programs; srun has every call.
# shellcheck shell=bash
# shellcheck disable=SC2016 # the variables are the job's, not ours
# shellcheck disable=SC2034,SC2154 # lib.sh uses patience; `run` sets here and files; `fresh` sets dir and member

# on_old_kernel PROFILE CMD...
on_old_kernel() {
  local PATH=$files/kernel/$1/bootstrap/cli:$PATH
  export PATH
  "${@:2}"
}

# Without it the checks below would show nothing: the call is refused to a program under muster, and to no other one.
has_no_pidfd() {
  local ask='import os
try: os.close(os.pidfd_open(os.getpid()))
except OSError as error: print(error.strerror)'
  expect_output 'pidfd_open under muster' "$1" step -N1 -n1 muster run -- /usr/bin/python3 -c "$ask"
  expect_output 'pidfd_open beside it' '' step -N1 -n1 /usr/bin/python3 -c "$ask"
}

in_layout() {
  fresh
  step "${@:2}" muster run -- "${member[@]}"
  evaluated "$1"
}

ranks_of_one_task() {
  fresh
  step -N3 --ntasks-per-node=1 muster run --nproc-per-node 2 -- env TOLD='- -' "${member[@]}"
  evaluated 6
}

# muster-slurm tells on which node it is.
misses_a_rank() {
  limit=10s lacks_rank_2 muster run -- true
  expect_like message "$(cat "$dir/err")" "*the group did not form within 10s: $exactly*"
}

checks_itself() {
  checked 0 --json --quick
  reported 'd["passed"] and d["world_size"] == 16 and all(c["right"] for c in d["collectives"])'
}

trains_on_two_nodes() {
  local python
  python=$("$top/tests/python/venv" 2>/dev/null)/bin/python
  expect_like 'loss' "$(by_torch 2 1 "$python" "$here/python/ddp.py")" 'loss 0.*'
}

check_old_kernel() {
  local profile patience=170 OMP_NUM_THREADS=1
  export OMP_NUM_THREADS
  local -A answer=([enosys]='Function not implemented' [eperm]='Operation not permitted')
  check 'old kernel: PyTorch' "$top/tests/python/venv"
  for profile in enosys eperm; do
    check "$profile: programs" "$here/../old_kernel/overlay" "$real_programs" "$profile" "$files/kernel/$profile"
    check "$profile: the calls are refused" on_old_kernel "$profile" has_no_pidfd "${answer[$profile]}"
    check "$profile: two tasks a node" on_old_kernel "$profile" in_layout 8 -N4 --ntasks-per-node=2
    check "$profile: kill -9 of a supervisor" on_old_kernel "$profile" killed 5 supervisor '69 69 69 69 69 137 69 69' \
      'rank 5 on gpu03 ended without leaving its group'
    check "$profile: kill -9 of a program" on_old_kernel "$profile" killed 5 pid '137 137 137 137 137 137 137 137' \
      'rank 5 on gpu03 failed: signal 9 (Killed)'
    begin "$profile: a rank is missing, muster-slurm" on_old_kernel "$profile" misses_a_rank
    check "$profile: --nproc-per-node" on_old_kernel "$profile" ranks_of_one_task
    check "$profile: cyclic, uneven" on_old_kernel "$profile" in_layout 5 -N2 -n5 -m cyclic
    check "$profile: check" on_old_kernel "$profile" checks_itself
    check "$profile: DistributedDataParallel" on_old_kernel "$profile" trains_on_two_nodes
    finish_begun
  done
}
