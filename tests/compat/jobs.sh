# Sourced by `run`: what must work on the cluster of a root. Jobs are those of an ordinary user of the root.
# shellcheck shell=bash
# shellcheck disable=SC2016 # the variables are the job's, not ours
# shellcheck disable=SC2034,SC2154 # shared with `run` and the launchers' suite; `fresh` sets dir and member

readonly user=4711

# As lib.sh has it, but for the user.
ctl() { (umask 022 && HOME=/home/ada on --user "$user" ctl "$@"); }

# Of muster and its programs: the user's own.
builds_muster_slurm() {
  on ctl "$top/bootstrap/slurm/compile" "$PWD/bazel-bin/bootstrap/cli/muster-slurm"
}

# What is compiled with the root's own MPI.
builds_for_mpi() {
  mkdir -p "$files/mpi"
  on ctl mpicc.openmpi -o "$files/mpi/openmpi" "$here/mpi_sum.c"
  on ctl mpicc.mpich -o "$files/mpi/mpich" "$here/mpi_sum.c"
}

alone() {
  rm -rf "$files/single" && mkdir "$files/single"
  expect_last_line 'last line' "$accuracy" ctl bazel-bin/deploy/examples/digits --predictions "$files/single/predictions"
  cp "$files/single/predictions" "$files/predictions"
}

launches() {
  fresh
  expect_last_line 'last line' "$accuracy" ctl muster launch -n 4 -c configs/eval-digits.yaml -- "${member[@]}"
  evaluated 4
}

# by_server METHOD TYPE: nothing but the server of srun says where to meet.
by_server() {
  fresh
  MUSTER_RENDEZVOUS_METHOD=$1 step "--mpi=$2" -N3 --ntasks-per-node=2 muster run -- "${member[@]}"
  evaluated 6
}

# of_mpirun LAUNCHER MPIRUN METHOD: in a batch script, more ranks on the first node than on the last.
of_mpirun() {
  fresh
  MUSTER_RENDEZVOUS_METHOD=${3-auto} batch -N3 --ntasks-per-node=3 <<<"$2 -n 7 $here/as_rank $dir"
  expect_resolved "$1" 7
  evaluated 7
}

# mpi_under TYPE MPI: its own ranks, each below a supervisor.
mpi_under() {
  expect_output output 'sum 15 of 6' step "--mpi=$1" -N3 --ntasks-per-node=2 muster run -- "$files/mpi/$2"
}

# killed_rank WHOSE CODES MESSAGE
killed_rank() {
  local began
  fresh
  step -N3 --ntasks-per-node=2 -w 'gpu[01-03]' sh -c \
    'trap : TERM; dir=$1; shift; muster run -- "$@"; echo $? >"$dir/code.$SLURM_PROCID"' sh "$dir" "${member[@]}" sleep 1000 \
    >"$dir/out" 2>"$dir/err" &
  watched=$!
  until_true 20 has_files "$dir/ranks" 6
  kill -KILL "$(of_rank "$dir" 4 "$1")"
  began=$SECONDS
  wait "$watched"
  [[ $((SECONDS - began)) -le 30 ]] || fail "the others ended after $((SECONDS - began)) s"
  expect 'exit codes' "$(codes)" "$2"
  expect 'messages' "$(said)" "error: $3"
  nothing_remains
}

misses_a_rank_of_four() {
  fresh
  MUSTER_TIMEOUTS_RENDEZVOUS=12s expect_code 75 step "$@" -N2 --ntasks-per-node=2 -w 'gpu[01-02]' sh -c '
    if [ "$SLURM_PROCID" = 3 ]; then
      until [ -e "$0/ended" ]; do sleep 0.1; done
      exit
    fi
    code=0
    muster run -- true || code=$?
    : >"$0/ended"
    exit "$code"' "$dir" 2>"$dir/err"
  expect_like message "$(cat "$dir/err")" '*the group did not form within 12s: 3/4 ranks; missing gpu02: 3 (never connected)*'
}

is_checked() {
  fresh
  step -N3 --ntasks-per-node=2 -w 'gpu[01-03]' muster check --json >"$dir/out"
  reported 'd["passed"] and d["world_size"] == 6 and d["num_nodes"] == 3 and d["failures"] == []'
  reported '[n["node"] for n in d["nodes"]] == ["gpu01", "gpu02", "gpu03"]'
  reported 'all(c["right"] for c in d["collectives"])'
}

refuses_an_allocation() {
  fresh
  expect_code 64 ctl salloc --quiet -N2 muster run -- true 2>"$dir/err"
  expect_like message "$(cat "$dir/err")" '*this is the salloc shell of Slurm job * (2 tasks on gpu*), not one of its tasks *'
}

# Init() in a program that srun starts itself.
initializes_itself() {
  fresh
  step -N3 --ntasks-per-node=2 bazel-bin/deploy/examples/digits --predictions "$dir/predictions"
  cmp "$dir/predictions" "$files/predictions"
}

# On the login node, without a job.
examines_the_login_node() {
  local glibc slurm
  glibc=$(ctl getconf GNU_LIBC_VERSION)
  slurm=$(ctl srun --version)
  fresh
  ctl muster doctor --json >"$dir/out"
  reported "[f['facts'][key] for f in d['findings'] for key in ('glibc', 'version') if key in f['facts']] == ['${glibc#* }', '$slurm']"
  reported 'd["health"] in ("ok", "note")'
  reported '{"system", "identity", "slurm", "gpus", "network", "sockets", "limits", "/dev/shm"} <= {f["subject"] for f in d["findings"]}'
}

answers_of_slurm() {
  fresh
  step -N3 -n3 -w 'gpu[01-03]' -t 5 sh -c '[ "$SLURM_PROCID" != 0 ] || muster-slurm --layout "$SLURM_JOB_ID.$SLURM_STEP_ID" \
    --end "$SLURM_JOB_ID" --address gpu02 --address gpu99' >"$dir/out"
  reported 'd["layouts"] == [[{"node": f"gpu0{n + 1}", "tasks": [n]} for n in range(3)]]'
  reported 'd["addresses"] == {"gpu02": "198.18.1.2"} and len(d["problems"]) == 1 and "gpu99" in d["problems"][0]'
  reported '0 < d["end_time"] - __import__("time").time() <= 301'
}

# plugin TYPE: whether this Slurm has the server.
has_mpi() { ctl srun --mpi=list 2>&1 | grep -qw "$1"; }

# check_server TYPE METHOD MPI MPIRUN LAUNCHER
check_mpi() {
  local start="mpirun.$4"
  # It binds ranks to CPUs, and this machine has fewer than the nodes claim.
  [[ $4 != openmpi ]] || start+=' --bind-to none'
  check "$1: mpirun of $4" of_mpirun "$5" "$start"
  check "$1: mpirun of $4, met on its server" of_mpirun "$5" "$start" "$3"
  if [[ $1-$2 == unstable-pmix ]] && ! has_mpi "$2"; then
    echo "$1: its Slurm has no --mpi=$2"
    return
  fi
  check "$1: srun --mpi=$2" by_server "$3" "$2"
  check "$1: srun --mpi=$2, a rank is missing" misses_a_rank_of_four "--mpi=$2"
  check "$1: srun --mpi=$2, a program of $4 below" mpi_under "$2" "$4"
}

check_jobs() {
  check "$1: muster-slurm compiles" builds_muster_slurm
  check "$1: MPI programs compile" builds_for_mpi
  check "$1: the digits of one process" alone
  check "$1: launch -n 4" launches
  check "$1: srun -N2 -n4" layout 4 -N2 -n4
  check "$1: srun -N3 -n7" layout 7 -N3 -n7
  check "$1: srun -m cyclic" layout 5 -N3 -n5 --exclusive -m cyclic
  check "$1: srun A : B" heterogeneous_step
  check "$1: srun of a program that calls Init()" initializes_itself
  check "$1: sbatch" from_batch
  check "$1: salloc is refused with advice" refuses_an_allocation
  check_mpi "$1" pmi2 pmi mpich hydra
  check_mpi "$1" pmix pmix openmpi openmpi
  check "$1: kill -9 of a program" killed_rank pid '137 137 137 137 137 137' 'rank 4 on gpu03 failed: signal 9 (Killed)'
  check "$1: kill -9 of a supervisor" killed_rank supervisor '69 69 69 69 137 69' 'rank 4 on gpu03 ended without leaving its group'
  check "$1: a rank is missing" misses_a_rank_of_four
  check "$1: muster-slurm answers" answers_of_slurm
  check "$1: muster-slurm names a missing rank of -m arbitrary" helper_knows_an_arbitrary_layout
  check "$1: muster check" is_checked
  check "$1: muster doctor on the login node" examines_the_login_node
}

from_batch() {
  fresh
  batch -N3 --ntasks-per-node=2 <<<"srun muster run -c configs/eval-digits.yaml -- ${member[*]}"
  expect 'last line' "$(tail -n 1 "$dir/out")" "$accuracy"
  evaluated 6
}

check_on_cluster() {
  local before=$failed
  check "$1: up" "$top/tests/cluster/up" 3 --root "$2" --share "$top"
  if [[ $failed -gt $before ]]; then return; fi
  umask 000
  check_jobs "$1"
  check_spank "$1"
  check "$1: nothing remains" nothing_remains
  umask 022
  "$top/tests/cluster/down"
}
