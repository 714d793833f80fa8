# Sourced by `run`: which backend a group takes, and that NCCL's start never hangs, on machines without a GPU. The GPUs
# are those of the stand-in for the CUDA runtime (../gpu/standin); NCCL is the real one.
# shellcheck shell=bash
# shellcheck disable=SC2154 # `run` sets here, top and files; `fresh` sets dir

# What muster is to find: the claimed GPUs, and the real NCCL.
nccl_places() {
  local folder
  mkdir -p "$files/cuda/lib"
  ln -s "$(readlink -f bazel-bin/tests/gpu/standin/libcudart.so.13)" "$files/cuda/lib" || return
  folder=$("$top/deploy/nccl/get") || return
  [[ -e $folder/nvidia/nccl/lib/libnccl.so.2 ]] || fail "no libnccl.so.2 in $folder"
}

# digits_on CODE NODES [VARIABLE=VALUE]... [-- WORD...]: 4 ranks on 2 nodes, of which NODES seem to have two GPUs each. The
# words stand in front of the program. Output in $dir/out, $dir/err.
digits_on() {
  local code=$1 gpu_nodes=$2 nccl_home
  shift 2
  nccl_home=$("$top/deploy/nccl/get" --where)/nvidia/nccl
  fresh
  local -a settings=()
  while [[ $# -gt 0 && $1 != -- ]]; do
    settings+=("$1")
    shift
  done
  [[ $# -eq 0 ]] || shift
  expect_code "$code" step -N2 --ntasks-per-node=2 -w 'gpu[01-02]' env STANDIN_GPUS=2 CUDA_HOME="$files/cuda" NCCL_HOME="$nccl_home" \
    "${settings[@]}" "$here/with_gpu" "$gpu_nodes" "$@" bazel-bin/deploy/examples/digits >"$dir/out" 2>"$dir/err" ||
    fail "$(cat "$dir/err" "$dir/out")"
}

# Under muster run the first program's word ends the others, maybe before theirs.
said_by_some() { grep -q -- "$1" "$dir/err" || fail "$(cat "$dir/err")"; }

# said_by_ranks COUNT PATTERN: so many lines of the ranks match it.
said_by_ranks() { expect "lines with $2" "$(grep -c -- "$2" "$dir/err")" "$1" || fail "$(cat "$dir/err")"; }

auto_takes_sockets_and_says_why() {
  digits_on 0 none MUSTER_LOG_LEVEL=debug
  expect_like 'result' "$(tail -n 1 "$dir/out")" 'accuracy: *'
  said_by_ranks 1 'backend: socket (no rank has an NVIDIA device'
}

nccl_without_a_gpu_is_refused_on_every_rank() {
  digits_on 78 none MUSTER_BACKEND=nccl
  said_by_ranks 4 'backend: nccl needs a GPU for every rank; rank 0 on gpu01: no NVIDIA device'
}

# NCCL needs no GPU to draw ids: they travel, and its start then fails on every rank with one rank's words.
ids_travel_and_the_start_fails_alike() {
  digits_on 71 all
  said_by_ranks 4 'rank [0-3] on gpu0[12] could not start NCCL on GPU-[-0-9a-f]*: unhandled cuda error'
  expect 'sentences' "$(grep -o 'rank [0-3] on gpu0[12] could not start NCCL.*' "$dir/err" | sort -u | wc -l)" 1
}
under_muster_run_too() {
  digits_on 71 all -- muster run --
  said_by_some 'rank [0-3] on gpu0[12] could not start NCCL on GPU-[-0-9a-f]*: unhandled cuda error'
}

mixture_names_the_nodes() {
  digits_on 76 gpu02
  said_by_ranks 4 'some ranks have a GPU and some have none: with on gpu02; without on gpu01 (rank 0 on gpu01: no NVIDIA device'
}
mixture_under_muster_run() {
  digits_on 76 gpu02 -- muster run --
  said_by_some 'digits: .*some ranks have a GPU and some have none: with on gpu02; without on gpu01'
}

one_gpu_for_two_ranks_is_refused() {
  digits_on 76 all STANDIN_GPUS=1
  said_by_ranks 4 'rank 0 and rank 1 on gpu01 use the same GPU, GPU-01000000'
}
one_gpu_may_be_shared() {
  digits_on 71 all STANDIN_GPUS=1 MUSTER_NCCL_SHARE_DEVICE=true
  said_by_ranks 4 'could not start NCCL'
}

# Python hands over host memory alone: no CUDA for that, with one rank or with four.
python_loads_no_cuda() {
  fresh
  local nccl_home
  nccl_home=$("$top/deploy/nccl/get" --where)/nvidia/nccl
  local -a with=(env CUDA_HOME="$files/cuda" NCCL_HOME="$nccl_home" PYTHONPATH="$top/bootstrap/python"
    LD_LIBRARY_PATH="$(readlink -f bazel-bin)/bootstrap/c" "$here/with_gpu" all)
  local program='import muster, sys; comm = muster.init(); assert muster.all_reduce(1) == comm.size
loaded = "cudart" in open("/proc/self/maps").read(); open(sys.argv[1] + "/" + str(comm.rank), "w").write(f"{comm.backend} {loaded}\n")'
  on gpu01 "${with[@]}" python3 -c "$program" "$dir/ranks"
  expect 'a world of one' "$(cat "$dir"/ranks/*)" 'socket False'
  fresh
  step -N2 --ntasks-per-node=2 "${with[@]}" python3 -c "$program" "$dir/ranks"
  expect 'four ranks' "$(sort "$dir"/ranks/* | uniq -c | xargs)" '4 socket False'
  fresh
  step -N2 --ntasks-per-node=2 "${with[@]}" muster run -- python3 -c "$program" "$dir/ranks"
  expect 'under muster run' "$(sort "$dir"/ranks/* | uniq -c | xargs)" '4 socket False'
}

configuration_reaches_a_program_of_musters() {
  echo 'nccl: {share_device: true}' >"$files/nccl.yaml"
  digits_on 71 all STANDIN_GPUS=1 -- muster run -c "$files/nccl.yaml" --
  said_by_some 'could not start NCCL'
}
# There is no supervisor's socket in a world of one.
also_alone() {
  fresh
  echo 'backend: nccl' >"$files/nccl.yaml"
  expect_code 78 step -N1 -n1 muster run -c "$files/nccl.yaml" -- bazel-bin/deploy/examples/digits 2>"$dir/err" ||
    fail "$(cat "$dir/err")"
  said_by_some 'backend: nccl needs a GPU for every rank; rank 0 on gpu0[1-4]: no NVIDIA device'
}
# As PyTorch would find it; what the user has set stays.
configuration_becomes_variables_of_nccl() {
  local words
  fresh
  echo 'nccl: {share_device: true, protocol: Simple, algorithm: Ring, debug: info, interface: eth0}' >"$files/nccl.yaml"
  words=(muster run -c "$files/nccl.yaml" -- sh -c 'env | grep ^NCCL_')
  step -N2 --ntasks-per-node=1 -w 'gpu[01-02]' env NCCL_PROTO=LL "${words[@]}" >"$dir/out"
  expect 'variables' "$(sort "$dir/out" | uniq -c | awk '{ print $1 "*" $2 }' | xargs)" \
    '2*NCCL_ALGO=Ring 2*NCCL_DEBUG=INFO 2*NCCL_MULTI_RANK_GPU_ENABLE=1 2*NCCL_PROTO=LL 2*NCCL_SOCKET_IFNAME==eth0'
}
by_default_there_are_none() {
  fresh
  step -N1 -n2 muster run -- sh -c 'env | grep ^NCCL_; true' >"$dir/out"
  expect 'variables' "$(cat "$dir/out")" ''
}

sockets_where_that_is_said() {
  digits_on 0 all MUSTER_BACKEND=socket
  expect_like 'result' "$(tail -n 1 "$dir/out")" 'accuracy: *'
}

# Without NCCL the claimed GPUs cannot be used: sockets, with a warning, and the versions that were seen.
check_prints_versions() {
  fresh
  expect_code 0 step -N2 --ntasks-per-node=1 -w 'gpu[01-02]' env CUDA_HOME="$files/cuda" NCCL_HOME=/nowhere \
    "$here/with_gpu" all muster check >"$dir/out" 2>"$dir/err" || fail "$(cat "$dir/err" "$dir/out")"
  expect_like 'GPUs' "$(grep '^  GPUs ' "$dir/out")" '*driver for CUDA 13.1, CUDA 13.0'
}

check_nccl() {
  check 'NCCL: the claimed GPUs and the real library' nccl_places
  check 'NCCL: backend auto takes sockets without a GPU, and says why' auto_takes_sockets_and_says_why
  check 'NCCL: asked for and without a GPU: refused on every rank' nccl_without_a_gpu_is_refused_on_every_rank
  check 'NCCL: real ids travel; its start fails alike on every rank' ids_travel_and_the_start_fails_alike
  check 'NCCL: the same under muster run' under_muster_run_too
  check 'NCCL: some nodes without a GPU are named' mixture_names_the_nodes
  check 'NCCL: the same under muster run, with its exit status' mixture_under_muster_run
  check 'NCCL: one GPU for two ranks is refused by name' one_gpu_for_two_ranks_is_refused
  check 'NCCL: unless it is said to be shared' one_gpu_may_be_shared
  check 'NCCL: what the section nccl says reaches a program under muster run' configuration_reaches_a_program_of_musters
  check 'NCCL: also in a world of one' also_alone
  check 'NCCL: and as variables of NCCL any other program' configuration_becomes_variables_of_nccl
  check 'NCCL: nothing is set where nothing is configured' by_default_there_are_none
  check 'NCCL: backend socket looks at no GPU' sockets_where_that_is_said
  check 'NCCL: import muster loads no CUDA' python_loads_no_cuda
  check 'NCCL: muster check prints the versions' check_prints_versions
}
