# Sourced by `run`: the launchers of PyTorch's world, the real ones (tests/python/venv).
# shellcheck shell=bash
# shellcheck disable=SC2016 # the variables are the job's, not ours
# shellcheck disable=SC2034,SC2154 # lib.sh uses patience; `run` sets here and files; `fresh` sets dir and member

# One task on each node, which starts the node's ranks.
agents() { step -N2 -w 'gpu[01-02]' --ntasks-per-node=1 "$@"; }

# The rest of the words of an agent: on node $SLURM_NODEID.
static='--nnodes 2 --node-rank $SLURM_NODEID --nproc-per-node 2 --master-addr gpu01 --master-port $((TEST_PORT + 1))'
c10d='--nnodes 2 --rdzv-id tests --rdzv-backend c10d --rdzv-endpoint gpu01:$((TEST_PORT + 2))'

# by_agents COMMAND [PROGRAM...]: in a shell, so that it can name the node.
by_agents() { agents sh -c "${1//$'\n'/ }"' "$@"' sh "${@:2}"; }

world_info() { printf '{"gpu01": [0], "gpu02": [0, 1]}' | base64 -w0; }

torch_launch=(on gpu01 python -m torch.distributed.launch --use-env --no-python --nproc-per-node 2)
accelerate=(accelerate launch --multi_gpu --mixed_precision no --dynamo_backend no --no_python)

# torchrun's agents are Open MPI's ranks.
in_mpirun() {
  ctl salloc --quiet -N2 -w 'gpu[01-02]' --ntasks-per-node=1 mpirun.openmpi -n 2 sh -c \
    "torchrun --no-python ${static/SLURM_NODEID/OMPI_COMM_WORLD_RANK}"' "$@"' sh "$@"
}

# Two torchruns of one step, one a task: two worlds, told apart by who came first.
two_in_a_step() {
  fresh "$files/a" "$files/b"
  agents sh -c '[ "$SLURM_PROCID" = 0 ] && place=$1 || place=$2
    torchrun --no-python --standalone --nproc-per-node 2 "$3" "$place"' sh "$files/a" "$files/b" "$here/as_rank"
  apart "$files/a" "$files/b"
  evaluated 2 "$files/a"
  evaluated 2 "$files/b"
}

# What muster run sets is what PyTorch takes.
own_group() {
  fresh
  expect_output output 'sum 6 of 4' step -N2 --ntasks-per-node=2 muster run -- python "$here/python/gloo.py"
}

# What torchrun sets muster sets as well, to the same. But for where the store is, what torchrun's own agent reads, and how
# NCCL's errors are handled, for which PyTorch has a default.
torchruns_variables() {
  local rank missing
  fresh
  on gpu01 env -u OMP_NUM_THREADS torchrun --no-python --standalone --nproc-per-node 2 \
    sh -c 'env | sort >"$1/tuples/torchrun.$RANK"' sh "$dir"
  on gpu01 env -u OMP_NUM_THREADS muster launch -n 2 --set run.threads=1 -- sh -c 'env | sort >"$1/tuples/muster.$RANK"' sh "$dir"
  on gpu01 env -u OMP_NUM_THREADS sh -c 'env | sort >"$1/tuples/none"' sh "$dir"
  for rank in 0 1; do
    missing=$(comm -23 "$dir/tuples/torchrun.$rank" "$dir/tuples/none" | comm -23 - "$dir/tuples/muster.$rank" | cut -d= -f1 | xargs)
    expect "what rank $rank gets of torchrun alone" "$missing" \
      "MASTER_ADDR MASTER_PORT TORCHELASTIC_ERROR_FILE TORCHELASTIC_RUN_ID TORCHELASTIC_SIGNALS_TO_HANDLE $(
        )TORCH_NCCL_ASYNC_ERROR_HANDLING"
    expect 'where they meet' "$(grep -cE '^(MASTER_ADDR|MASTER_PORT|TORCHELASTIC_RUN_ID)=.' "$dir/tuples/muster.$rank")" 3
  done
}

# Some 150 MB more to download, and half a minute and more to start.
ray_train() {
  local folder
  folder=$("$top/tests/python/venv" ray)
  PATH=$folder/bin:$PATH
  mkdir "$files/ray"
  RAY_USAGE_STATS_ENABLED=0 as_ranks ray 2 on gpu01 python "$here/python/ray_train.py" "$files/ray"
}

# Its launcher alone, from its sources: the half of Horovod that a program loads is minutes of compiling.
horovod() {
  local place=$files/horovod
  mkdir "$place" "$place/bin"
  python -m pip download --quiet --no-deps --no-binary :all: --dest "$place" horovod==0.28.1
  tar -xzf "$place"/horovod-*.tar.gz -C "$place" --strip-components=1
  python -m pip install --quiet --target "$place/needs" cloudpickle psutil pyyaml packaging
  printf '%s\n' '#!/bin/sh' 'while [ "$1" = -o ]; do shift 2; done' 'host=$1; shift' \
    'exec srun --quiet --overlap -N1 -n1 -w "$host" sh -c "$*"' >"$place/bin/ssh"
  chmod +x "$place/bin/ssh"
  PATH=$place/bin:$PATH PYTHONPATH=$place:$place/needs as_ranks horovod 3 \
    ctl salloc --quiet -N2 -w 'gpu[01-02]' --ntasks-per-node=2 python "$here/python/horovod_gloo.py" gpu01:2,gpu02:1 \
    sh -c 'TOLD="$HOROVOD_RANK $HOROVOD_LOCAL_RANK" exec "$@"' sh
}

check_python() {
  local patience=120 OMP_NUM_THREADS=1 DS_ACCELERATOR=cpu PATH=$PATH
  export OMP_NUM_THREADS DS_ACCELERATOR PATH
  check 'python: PyTorch and its launchers' "$top/tests/python/venv"
  PATH=$("$top/tests/python/venv" 2>/dev/null)/bin:$PATH || return 0
  # torch_store.sh has both kinds of rendezvous on two nodes, nested.sh and evaluations.sh a torchrun on one.
  if [[ ${MUSTER_TESTS_LONG-} ]]; then
    check 'torchrun: standalone' as_ranks torchrun 3 on gpu01 torchrun --no-python --standalone --nproc-per-node 3
    check 'torchrun: static, two nodes' as_ranks torchrun 4 by_agents "torchrun --no-python $static"
  fi
  check 'torchrun: c10d, two uneven nodes' as_ranks torchrun 3 \
    by_agents "torchrun --no-python $c10d --nproc-per-node \$((SLURM_NODEID + 1))"
  check 'torchrun: one in each task' two_in_a_step
  check 'torchrun in mpirun' as_ranks torchrun 4 in_mpirun
  [[ -z ${MUSTER_TESTS_LONG-} ]] || check 'torch.distributed.launch' as_ranks torchrun 2 "${torch_launch[@]}"
  [[ -z ${MUSTER_TESTS_LONG-} ]] || check 'accelerate launch: one node' as_ranks torchrun 2 \
    on gpu01 "${accelerate[@]}" --num_machines 1 --num_processes 2
  check 'accelerate launch: two nodes' as_ranks torchrun 4 \
    by_agents "${accelerate[*]}"' --num_machines 2 --machine_rank $SLURM_NODEID --num_processes 4 --main_process_ip gpu01
      --main_process_port 29513'
  check 'DeepSpeed: two uneven nodes' as_ranks deepspeed 3 \
    by_agents "python -m deepspeed.launcher.launch --world_info $(world_info)"' --node_rank $SLURM_NODEID
      --master_addr gpu01 --master_port 29514 --no_python --no_local_rank'
  check 'mp.spawn in srun' as_ranks torch-env 4 agents python "$here/python/spawn.py" 2
  check 'Lightning: its own processes' as_ranks node-env 2 on gpu01 python "$here/python/fabric.py" 2 1
  [[ -z ${MUSTER_TESTS_LONG-} ]] || check "Lightning: srun's tasks" as_ranks slurm 4 step -N2 --ntasks-per-node=2 python "$here/python/fabric.py" 2 2
  # torch.sh has it on four nodes.
  [[ -z ${MUSTER_TESTS_LONG-} ]] || check 'PyTorch under srun muster run' own_group
  check "torchrun's variables under muster" torchruns_variables
  [[ -z ${MUSTER_TESTS_LONG-} ]] || patience=300 check 'Ray Train' ray_train
  [[ -z ${MUSTER_TESTS_LONG-} ]] || patience=300 check 'Horovod: two uneven nodes' horovod
}
