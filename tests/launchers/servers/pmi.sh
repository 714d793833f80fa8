# Sourced by `run`: ranks that meet on the server that their launcher keeps, PMI or PMIx.
# shellcheck shell=bash
# shellcheck disable=SC2016 # the variables are the job's, not ours
# shellcheck disable=SC2034,SC2154 # lib.sh uses patience; `run` sets here, top and files; `fresh` sets dir and member;
# without_munge and sshd_on_all are auth.sh's and ssh.sh's

# of_srun TYPE COMMAND...: the server of srun --mpi=TYPE (pmi2 or pmix), forced.
of_srun() { SLURM_MPI_TYPE=$1 MUSTER_RENDEZVOUS_METHOD=${1%2} "${@:2}"; }
of_pmi2() { of_srun pmi2 "$@"; }
of_pmix() { of_srun pmix "$@"; }

# Nothing but the server has a secret: on the ladder these ranks could not meet.
pmi_in_a_step() {
  fresh
  "$1" step -N3 --ntasks-per-node=2 "${without_munge[@]}" muster run -- "${member[@]}"
  evaluated 6
}

# pmi_of_mpirun METHOD LAUNCHER MPIRUN: seven ranks on three nodes, more on the first than on the last.
pmi_of_mpirun() {
  fresh
  MUSTER_RENDEZVOUS_METHOD=$1 batch -N3 --ntasks-per-node=3 <<<"$3 -n 7 ${without_munge[*]:0:4} '${without_munge[4]}' sh \
    $here/as_rank $dir"
  expect_resolved "$2" 7
  evaluated 7
}

# mpirun alone, over nodes that it reaches by ssh: nothing else says where rank 0 is, and nothing is configured.
mpich_alone() { on gpu01 mpirun.mpich -launcher ssh -launcher-exec "$keys/ssh" -hosts gpu01:2,gpu02:2,gpu03:2 -n 6 "$@"; }
openmpi_alone() {
  on gpu01 mpirun.openmpi --mca plm rsh --mca plm_rsh_agent "$keys/ssh" --host gpu01:2,gpu02:2,gpu03:2 \
    -x MUSTER_TIMEOUTS_RENDEZVOUS -n 6 "$@"
}

# What a rank of mpirun says, in a file of its own. mpirun's own output is no place to look: once a rank has failed, that of
# Open MPI 4.1 drops what others, or this one, have just written (one launch in seven here).
said_apart() { "$1" sh -c 'exec 2>"$0/err.${PMI_RANK-${OMPI_COMM_WORLD_RANK-$RANK}}"; exec "$@"' "$dir" "${@:2}"; }

# The ladder has nowhere to begin.
mpirun_alone_needs_its_server() {
  fresh
  expect_code 78 said_apart "$1" muster run --set rendezvous.method=tcp -- true 2>"$dir/err"
  expect_like message "$(cat "$dir"/err.*)" '*ranks of this * launch may be on several nodes, and the node of rank 0 is unknown*'
}

# Two launches that look alike but for their servers, on the same nodes at the same time: one waits for its rank 3.
two_mpirun_alone() {
  local a=$files/a b=$files/b pid
  fresh "$a" "$b"
  dir=$a shut_gate
  "$1" sh -c '[ "${PMI_RANK-$OMPI_COMM_WORLD_RANK}" != 3 ] || exec "$0" "$@"
    shift
    exec "$@"' "$here/at_gate" "$a" muster run -- "$here/member" "$a" &
  pid=$!
  until_true 60 has_files "$a/waiting" 1
  "$1" muster run -- "$here/member" "$b"
  open_gate
  wait "$pid"
  evaluated 6 "$a"
  evaluated 6 "$b"
  apart "$a" "$b"
}

# mpi_below METHOD COMPILER COMMAND...: MPI's own ranks, each below a supervisor that has used the server.
mpi_below() {
  fresh
  "$2" -o "$dir/sum" "$here/mpi_sum.c"
  MUSTER_RENDEZVOUS_METHOD=$1 expect_output output 'sum 15 of 6' "${@:3}" muster run -- "$dir/sum" 2>"$dir/err" ||
    fail "$(cat "$dir/err")"
}
in_salloc() { ctl salloc --quiet -N3 --ntasks-per-node=2 "$@"; }

# mpi_beside COMPILER COMMAND...: MPI and muster in one process, in either order.
mpi_beside() {
  local first
  fresh
  "$1" -I"$top/bootstrap/c" -o "$dir/beside" "$here/mpi_beside.c" bazel-bin/bootstrap/c/libmuster.so \
    -Wl,-rpath,"$PWD/bazel-bin/bootstrap/c"
  for first in mpi muster; do expect_output "output, $first first" 'sum 15 of 6' "${@:2}" "$dir/beside" "$first"; done
}

# srun's servers take one process of a rank: MPI says so, and the job ends.
mpi_below_srun() {
  local code=0
  fresh
  "$2" -o "$dir/sum" "$here/mpi_sum.c"
  "$1" step -N3 --ntasks-per-node=2 muster run -- "$dir/sum" >"$dir/out" 2>&1 || code=$?
  [[ $code -ne 0 ]]
  expect_like output "$(cat "$dir/out")" "$3"
  until_true 60 idle
}
idle() { [[ -z $(ctl squeue -h) ]]; }

pmix_after_pmix() {
  local places=("$files"/row-{1..3}) place
  fresh "${places[@]}"
  "$@" sh -c 'for i in 1 2 3; do muster run -- "$1" "$2/row-$i" true || exit; done' sh "$here/member" "$files"
  apart "${places[@]}"
  for place in "${places[@]}"; do whole 6 "$place"; done
}

# A second group of the same ranks.
pmi_after_pmi() {
  fresh
  expect_code 78 "$@" sh -c 'muster run -- true && muster run -- true' 2>"$dir/err"
  expect_like message "$(cat "$dir/err")" '*error: the PMI server at PMI_FD=* has closed the connection (set rendezvous.method: tcp or file; this server serves one muster run of each rank*'
}

pmi_starts_again() {
  fresh
  "$@" muster run --max-restarts 1 -- sh -c '[ -e "$0/failed" ] || { [ "$RANK" = 3 ] || exec sleep 100; : >"$0/failed"; exit 3; }
    exec "$@"' "$dir" "${member[@]}" 2>"$dir/err"
  evaluated 6
}

pmi_names_the_missing() {
  fresh
  MUSTER_TIMEOUTS_RENDEZVOUS=12s expect_code 75 "$1" step -N2 --ntasks-per-node=2 -w 'gpu[01-02]' \
    sh -c '[ "$SLURM_PROCID" != 3 ] || exec sleep 14; exec muster run -- true' 2>"$dir/err"
  expect_like message "$(cat "$dir/err")" '*the group did not form within 12s: 3/4 ranks; missing gpu02: 3 (never connected)*'
}

# Hydra's proxy on one node neither answers nor ends.
pmi_server_hangs() {
  local pid proxy
  fresh
  shut_gate
  MUSTER_TIMEOUTS_RENDEZVOUS=6s mpich_alone "$here/at_gate" "$dir" sh -c 'muster run -- true 2>"$0/err.$PMI_RANK"
    echo $? >"$0/ranks/$PMI_RANK"' "$dir" &
  pid=$!
  until_true 60 has_files "$dir/waiting" 6
  proxy=$(proxy_of 4)
  kill -STOP "$proxy"
  open_gate
  until_true 60 has_files "$dir/ranks" 6
  kill -CONT "$proxy"
  wait "$pid" || true
  expect 'exit codes' "$(cat "$dir"/ranks/? | xargs)" '75 75 75 75 75 75'
  expect_like message "$(cat "$dir"/err.4)" '*the root, rank 0, did not answer within 6s; the PMI server at PMI_FD=* has not answered in time*'
}
# proxy_of RANK: the parent of the process that waits at the gate.
proxy_of() {
  local pid
  for pid in $(find "$dir/waiting" -type f -printf '%f\n' | sed 's/.*\.//'); do
    if grep -qzx "PMI_RANK=$1" "/proc/$pid/environ"; then sed -n 's/^PPid:\t//p' "/proc/$pid/status"; fi
  done
}

# One rank's own setting is wrong: it says so where the others look.
pmi_refused() {
  fresh
  expect_code 78 said_apart "$1" sh -c '[ "${PMI_RANK-$OMPI_COMM_WORLD_RANK}" != 3 ] || export MUSTER_BACKEND=bogus
    exec muster run -- true' 2>"$dir/err"
  expect_like message "$(cat "$dir/err.0")" \
    '*muster: rank 0 on gpu01: error: rank 3 on gpu02 was refused: MUSTER_BACKEND: "bogus" is not one of*'
}

pmi_nowhere() {
  fresh
  expect_code 78 step -N2 --ntasks-per-node=1 --mpi=none muster run --set rendezvous.method=pmi -- true 2>"$dir/err"
  expect_like message "$(cat "$dir/err")" '*rendezvous.method is pmi, but there is no such server here: no PMI_FD*'
  expect_code 78 step -N2 --ntasks-per-node=1 --mpi=none muster run --set rendezvous.method=pmix -- true 2>"$dir/err"
  expect_like message "$(cat "$dir/err")" '*rendezvous.method is pmix, but there is no such server here: no PMIX_SERVER_URI*'
}

# ---- a rank whose size only the PMIx server knows

bare_of_srun() { as_ranks pmix "$@" "${without_munge[@]}" "$here/bare_pmix"; }
bare_of_mpirun() {
  fresh
  batch -N3 --ntasks-per-node=3 <<<"mpirun.openmpi -n 7 ${without_munge[*]:0:4} '${without_munge[4]}' sh \
    $here/bare_pmix $here/as_rank $dir"
  expect_resolved pmix 7
  evaluated 7
}
pmix_forced() { MUSTER_LAUNCHER=pmix as_ranks pmix 6 step --mpi=pmix -N3 --ntasks-per-node=2; }

bare_says_from_where() {
  fresh
  step --mpi=pmix -N2 --ntasks-per-node=2 -w 'gpu[01-02]' "$here/bare_pmix" sh -c 'muster resolve >"$0/ranks/$PMIX_RANK"' "$dir"
  expect_like answer "$(cat "$dir/ranks/3")" "rank 3 of 4, started by pmix*$(
    )  world_size        4                        the PMIx server's PMIX_JOB_SIZE*$(
    )  local_rank        1                        the PMIx server's PMIX_LOCAL_PEERS*$(
    )  node              gpu02                    PMIX_HOSTNAME*"
}

# bare_refused REASON COMMAND...: COMMAND starts what it is given where the server cannot be asked.
bare_refused() {
  fresh
  expect_code 65 step --mpi=pmix -N1 -n1 "$here/bare_pmix" "${@:2}" muster run -- true 2>"$dir/err"
  expect_like message "$(cat "$dir/err")" "*error: PMIX_RANK=0 is a rank (PMIX_NAMESPACE=slurm.pmix.*), but the $(
    )size of its world is unknown, and its PMIx server cannot be queried: $1*"
}
without_libpmix=(unshare --mount sh -c 'mount --bind /dev/null "$(realpath /usr/lib/x86_64-linux-gnu/libpmix.so.2)" && exec "$@"' sh)
dead_pmix=(sh -c 'for name in 2 21 3 4 41; do export "PMIX_SERVER_URI$name=pmix-server.1;tcp4://127.0.0.1:1"; done; exec "$@"' sh)

# slurmstepd is the server. Nobody waits for it longer than timeouts.resolve.
bare_server_hangs() {
  local pid stepd
  fresh
  shut_gate
  MUSTER_TIMEOUTS_RESOLVE=2s step --mpi=pmix -N1 -n1 "$here/bare_pmix" "$here/at_gate" "$dir" \
    sh -c 'muster run -- true 2>"$0/err"; echo $? >"$0/ranks/0"' "$dir" &
  pid=$!
  until_true 60 has_files "$dir/waiting" 1
  stepd=$(sed -n 's/^PPid:\t//p' "/proc/$(find "$dir/waiting" -type f -printf '%f\n' | sed 's/.*\.//')/status")
  expect_like 'the server' "$(cat "/proc/$stepd/comm")" 'slurmstepd*'
  kill -STOP "$stepd"
  open_gate
  until_true 60 has_files "$dir/ranks" 1
  kill -CONT "$stepd"
  wait "$pid"
  expect 'exit code' "$(cat "$dir/ranks/0")" 65
  expect_like message "$(cat "$dir/err")" \
    '*the size of its world is unknown, and its PMIx server cannot be queried: the PMIx server of this node has not answered in time*'
}

# 256 ranks; with --long also what the same takes with the ladder: three of each in turn.
pmi_of_256() {
  local ladder='' pmi2='' pmix=''
  fresh
  "$top/tests/cluster/up" 32 --name "$TEST_CLUSTER-32"
  TEST_CLUSTER=$TEST_CLUSTER-32
  of_pmi2 step -N32 -n256 --overcommit muster run -- "${member[@]}"
  evaluated 256
  fresh
  of_pmix step -N32 -n256 --overcommit muster run -- "${member[@]}"
  evaluated 256
  # Figures for a reader; nothing is compared.
  for _ in ${MUSTER_TESTS_LONG:+1 2 3}; do
    ladder+=$(seconds_of)
    pmi2+=$(of_pmi2 seconds_of)
    pmix+=$(of_pmix seconds_of)
  done
  [[ -z $ladder ]] || echo "256 ranks on 32 nodes, srun muster run -- true, seconds: pmi2 $pmi2, pmix $pmix, ladder $ladder" >"$files/pmi_times"
  "$top/tests/cluster/down" --name "$TEST_CLUSTER"
}

check_pmi() {
  local patience=120 keys=$files/ssh
  check 'PMI-2 of srun' pmi_in_a_step of_pmi2
  check 'PMIx of srun' pmi_in_a_step of_pmix
  check 'PMI-1 of MPICH in sbatch, seven ranks on three nodes' pmi_of_mpirun pmi hydra mpirun.mpich
  check 'PMIx of Open MPI in sbatch, seven ranks on three nodes' pmi_of_mpirun pmix openmpi mpirun.openmpi
  check 'mpirun alone: a server on each node' sshd_on_all
  check 'MPICH alone on three nodes' as_ranks hydra 6 mpich_alone "${without_munge[@]}"
  check 'MPICH alone: not by the ladder' mpirun_alone_needs_its_server mpich_alone
  check 'MPICH alone, twice at once' two_mpirun_alone mpich_alone
  check 'Open MPI alone on three nodes' as_ranks openmpi 6 openmpi_alone "${without_munge[@]}"
  check 'Open MPI alone: not by the ladder' mpirun_alone_needs_its_server openmpi_alone
  check 'Open MPI alone, twice at once' two_mpirun_alone openmpi_alone
  check 'PMI: an MPICH program below' mpi_below pmi mpicc.mpich in_salloc mpirun.mpich -n 6
  check 'MPICH alone: an MPICH program below' mpi_below auto mpicc.mpich mpich_alone
  check 'MPICH alone: beside MPI' mpi_beside mpicc.mpich mpich_alone
  check 'Open MPI alone: beside MPI' unless_open_mpi_crashes mpi_beside mpicc.openmpi openmpi_alone
  check 'PMIx of srun: beside MPI' unless_open_mpi_crashes mpi_beside mpicc.openmpi of_pmix step -N3 --ntasks-per-node=2
  check 'PMI-2 of srun: no MPICH program below' mpi_below_srun of_pmi2 mpicc.mpich '*Unable to write to PMI_fd*'
  check 'PMIx of srun: no Open MPI program below' mpi_below_srun of_pmix mpicc.openmpi '*An error occurred in MPI_Init*'
  check 'PMIx of srun: three groups in a row' pmix_after_pmix of_pmix step -N3 --ntasks-per-node=2
  check 'Open MPI alone: three groups in a row' pmix_after_pmix openmpi_alone
  check 'PMI-2 of srun: one group' pmi_after_pmi of_pmi2 step -N3 --ntasks-per-node=2
  check 'MPICH alone: one group' pmi_after_pmi mpich_alone
  check 'PMI-2 of srun: it starts again' pmi_starts_again of_pmi2 step -N3 --ntasks-per-node=2
  check 'PMIx of srun: it starts again' pmi_starts_again of_pmix step -N3 --ntasks-per-node=2
  check 'MPICH alone: it starts again' pmi_starts_again mpich_alone
  begin 'PMI-2 of srun: a rank is missing' pmi_names_the_missing of_pmi2
  begin 'PMIx of srun: a rank is missing' pmi_names_the_missing of_pmix
  begin 'MPICH alone: the server hangs' pmi_server_hangs
  begin 'a bare PMIx rank: a server that hangs' bare_server_hangs
  check 'MPICH alone: a rank is refused' pmi_refused mpich_alone
  check 'Open MPI alone: a rank is refused' pmi_refused openmpi_alone
  check 'PMI: no server' pmi_nowhere
  check 'a bare PMIx rank of srun' bare_of_srun 6 step --mpi=pmix -N3 --ntasks-per-node=2
  check 'a bare PMIx rank of srun: one node' bare_of_srun 4 step --mpi=pmix -N1 -n4
  check 'a bare PMIx rank of Open MPI in sbatch, seven ranks on three nodes' bare_of_mpirun
  check 'a bare PMIx rank of Open MPI alone' as_ranks pmix 6 openmpi_alone "${without_munge[@]}" "$here/bare_pmix"
  check 'a bare PMIx rank: where its tuple comes from' bare_says_from_where
  check 'a bare PMIx rank: no libpmix' bare_refused '*libpmix.so.2*' "${without_libpmix[@]}"
  check 'a bare PMIx rank: a server that is gone' bare_refused 'PMIx_Init failed: *' "${dead_pmix[@]}"
  check 'forced: launcher: pmix' pmix_forced
  finish_begun
  check 'a bare PMIx rank of srun: seven on three nodes' bare_of_srun 7 step --mpi=pmix --exclusive -N3 -n7
  check 'PMI: 256 ranks on 32 nodes' pmi_of_256
  [[ ! -e $files/pmi_times ]] || sed 's/^/    /' "$files/pmi_times"
}
