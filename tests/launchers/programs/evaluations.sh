# Sourced by `run`: programs that people run, unchanged, under `srun muster run`; and the Python module beside PyTorch.
# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034,SC2154 # lib.sh uses patience; `run` sets here, top and files; `fresh` sets dir

# What a program says besides: each PyTorch client asks for the name of the address it connects to, and has none.
printed() { (set -o pipefail && "$@" 2>"$dir/err" | grep -v '^\[Gloo\]'); }

# comes_out LINES COMMAND...: that is all it says, and it does not fail.
comes_out() {
  fresh
  expect output "$(printed "${@:2}" || { echo "exit code $?:" && cat "$dir/err"; })" "$1"
}

two_by_two() { step -N2 -w 'gpu[01-02]' --ntasks-per-node=2 "$@"; }
# Two ranks, where no more would be seen with four: each loads PyTorch for seconds.
one_each() { step -N2 -w 'gpu[01-02]' --ntasks-per-node=1 "$@"; }

# One rank is killed while the others wait for it, as long as evaluations may, 60000 s: all end now, with its name.
rank_is_killed() {
  local code=0 pid began
  fresh
  PIDS=$dir/ranks two_by_two muster run -c configs/eval.yaml -- python "$here/python/training.py" waits_for_ever >"$dir/out" 2>&1 &
  until_true 60 has_files "$dir/ranks" 4
  until_true 10 test -s "$dir/ranks/1"
  read -r pid <"$dir/ranks/1" || true
  began=$SECONDS
  kill -KILL "$pid"
  wait $! || code=$?
  [[ $((SECONDS - began)) -le 60 ]] || fail "the others ended after $((SECONDS - began)) s"
  expect 'exit code' "$code" 137
  expect_like 'what was said' "$(cat "$dir/out")" '*rank 1 on gpu01 failed: signal 9*'
  nothing_remains
}

# through_muster LAUNCHER COMMAND...: it starts two ranks, whose program leaves to muster.torch how they meet.
through_muster() {
  comes_out "sum 1 of 2
started by $1" "${@:2}" env THROUGH_MUSTER=1 python "$here/python/training.py" sum_of_ranks launcher
}

mpi() {
  fresh
  mpicc.openmpi "$here/mpi_sum.c" -o "$files/mpi_sum"
  expect_output output 'sum 6 of 4' two_by_two --mpi=pmix muster run -- "$files/mpi_sum"
}

# The folder that a harness runs in; paths in its tasks are relative.
harness_place() {
  cp -r "$here/evaluation" "$files/evaluation"
  cd "$files/evaluation" || return
  python make_tiny_model.py tiny
}

readonly sums=(lm_eval_cpu.py run --model hf-cpu --model_args 'pretrained=tiny,dtype=float32' --device cpu
  --include_path lm_tasks --tasks muster_sums --batch_size 1 --log_samples)
readonly letters=(-m lmms_eval --model tiny_text --model_args 'pretrained=tiny'
  --include_path muster_lmms/tasks --tasks muster_letters --batch_size 1 --log_samples)

# harness NODES RANKS_PER_NODE ARGUMENT...: the scores are those of one process, and the ranks shared the questions.
harness() {
  fresh
  cd "$files/evaluation" || return
  step "-N$1" --ntasks-per-node="$2" muster run -c "$top/configs/eval.yaml" -- python "${@:3}" --output_path "$dir/scores" \
    >"$dir/out" 2>&1 || fail "$(tail -n 5 "$dir/out")"
  python check_run.py "$dir/scores" $(($1 * $2))
}

readonly three_tasks=(run --model hf --model_args 'pretrained=tiny,dtype=float32' --device cpu --include_path lm_tasks
  --tasks 'muster_sums,muster_words,muster_text' --batch_size 4 --log_samples)

# stock HARNESS: what it makes itself, in one process; once. The results contain what it can find out about the machine.
stock() {
  local arguments=("${three_tasks[@]}")
  [[ $1 == lm_eval ]] || arguments=("${letters[@]:2}")
  [[ -d $files/stock-$1 ]] || on gpu01 "${old_kernel[@]}" python -m "$1" "${arguments[@]}" --output_path "$files/stock-$1" >"$dir/stock" 2>&1 ||
    fail "$(tail -n 5 "$dir/stock")"
}

# dispatched HARNESS RANKS KILLED ARGUMENT...: through muster on two nodes; the ranks KILLED end in the middle.
dispatched() {
  local arguments=("${three_tasks[@]}")
  [[ $1 == lm_eval ]] || arguments=("${letters[@]:2}")
  PYTHONPATH=$PWD:$PYTHONPATH step ${limit:+"--time=$limit"} -N$(($2 > 1 ? 2 : 1)) -n "$2" -w "gpu0[1-$(($2 > 1 ? 2 : 1))]" \
    muster run -c "$top/configs/eval.yaml" -- python "$here/python/dispatched.py" "$1" "$dir" "$3" "${arguments[@]}" \
    --output_path "$dir/scores" "${@:4}" >"$dir/out" 2>&1
}

# as_one_process HARNESS RANKS [KILLED]: scores and samples are those of the harness in one process, to the last bit.
as_one_process() {
  fresh
  cd "$files/evaluation" || return
  stock "$1"
  dispatched "$1" "$2" "${3-}" || fail "exit code $?: $(tail -n 5 "$dir/out")"
  [[ ! ${3-} ]] || expect_like 'what was said' "$(cat "$dir/out")" "*rank $3 on gpu0? failed: signal 9*"
  python same_run.py "$files/stock-$1" "$dir/scores"
}

# goes_on_as_one_process HARNESS: others go on with the journal, and no batch is done twice.
goes_on_as_one_process() {
  [[ -s $dir/done ]] || fail 'no batch was done before'
  dispatched "$1" 4 '' --muster_journal "$dir/journal" || fail "exit code $?: $(tail -n 5 "$dir/out")"
  expect 'batches that were done twice' "$(cut -d' ' -f2- "$dir/done" | sort | uniq -d)" ''
  python same_run.py "$files/stock-$1" "$dir/scores"
}

all_are_killed() {
  fresh
  cd "$files/evaluation" || return
  stock "$1"
  ! dispatched "$1" 3 0,1,2 --muster_journal "$dir/journal" || fail 'a run without ranks ended with 0'
  expect_like 'what was said' "$(cat "$dir/out")" '*start it again with the same journal*'
  goes_on_as_one_process "$1"
}

# The job has two minutes, and its batches are slow.
time_is_up() {
  fresh
  cd "$files/evaluation" || return
  stock "$1"
  SLOW=20 limit=2 expect_code 80 dispatched "$1" 3 '' --muster_journal "$dir/journal"
  expect 'tracebacks' "$(grep -c '^Traceback' "$dir/out" || true)" 0
  goes_on_as_one_process "$1"
}

# The sweep that is shipped, with the tiny model and tasks of its own.
sweep_of_lm_eval() {
  local task
  fresh
  for task in sums text; do
    sed "s|data/sums|$files/evaluation/&|" "$files/evaluation/lm_tasks/$task.yaml" >"$dir/$task.yaml"
  done
  cat >"$dir/tiny.yaml" <<EOF
include: $top/configs/map-lm-eval.yaml
map:
  items:
    - {id: sums, model: $files/evaluation/tiny, task: $dir/sums.yaml}
    - {id: text, model: $files/evaluation/tiny, task: $dir/text.yaml}
  output: $dir/sweep
EOF
  one_each muster map -c "$dir/tiny.yaml" >"$dir/out" 2>&1 || fail "exit code $?: $(tail -n 5 "$dir/out")"
  expect_like 'scores' "$(cat "$dir"/sweep/sums/results_*.json)" '*"acc,none": 0.2295*'
  expect_like 'scores' "$(cat "$dir"/sweep/text/results_*.json)" '*"byte_perplexity,none":*'
}

check_evaluations() {
  local patience=300 torchrun harness ranks OMP_NUM_THREADS=1 PATH=$PATH PYTHONPATH=$files/wheel_module
  export OMP_NUM_THREADS PATH PYTHONPATH PYTHONDONTWRITEBYTECODE=1 ACCELERATE_USE_CPU=1
  export HF_HOME=$files/hf HF_HUB_OFFLINE=1 HF_DATASETS_OFFLINE=1 LMMS_EVAL_PLUGINS=muster_lmms
  check 'evaluations: PyTorch, the harnesses and JAX' "$top/tests/python/venv" eval
  PATH=$("$top/tests/python/venv" eval 2>/dev/null)/bin:$PATH || return 0
  torchrun=$("$top/tests/python/venv")/bin/torchrun
  check "evaluations: muster's wheel" wheel_in "$files/wheel_module"

  check 'PyTorch: DDP, FSDP, objects and barriers' comes_out 'DDP: the losses of 4 ranks are those of one
FSDP: the losses of 4 ranks are those of one
objects and barriers of 4 ranks' \
    two_by_two muster run -- python "$here/python/training.py" ddp fsdp objects
  check 'PyTorch: a rank is killed' rank_is_killed
  check 'Accelerate' comes_out 'Accelerate: the losses of 2 ranks are those of one' \
    one_each muster run -- python "$here/python/accelerated.py"
  check 'JAX' comes_out 'sum 1 of 2' one_each muster run -- python "$here/python/jax_sum.py"
  check 'MPI: Open MPI over PMIx' unless_open_mpi_crashes mpi

  check 'muster.torch: under srun alone' comes_out 'objects and barriers of 2 ranks' \
    one_each env THROUGH_MUSTER=1 python "$here/python/training.py" objects
  check 'muster.torch: under muster run' comes_out 'sum 1 of 2' \
    one_each muster run -- env THROUGH_MUSTER=1 python "$here/python/training.py" sum_of_ranks
  check 'muster.torch: under torchrun' through_muster torchrun \
    on gpu01 "$torchrun" --no-python --standalone --nproc-per-node 2
  check 'muster.torch: under mpirun of Open MPI, two nodes' through_muster openmpi \
    ctl salloc --quiet -N2 -w 'gpu[01-02]' --ntasks-per-node=1 mpirun.openmpi -n 2
  check 'muster.torch: under mpirun of MPICH' through_muster hydra on gpu01 mpirun.mpich -n 2
  check 'muster.torch: a world of one' comes_out 'sum 0 of 1' \
    on gpu01 env THROUGH_MUSTER=1 python "$here/python/training.py" sum_of_ranks
  check 'muster.torch: the group is there already' comes_out 'sum 1 of 2' \
    one_each muster run -- python "$here/python/training.py" already
  check 'import torch, then muster' comes_out 'torch and muster: 2 ranks' one_each python "$here/python/beside_torch.py" torch muster
  check 'import muster, then torch' comes_out 'muster and torch: 2 ranks' one_each python "$here/python/beside_torch.py" muster torch

  check 'harnesses: a tiny model' harness_place
  check 'lm-eval: 2 ranks' harness 2 1 "${sums[@]}"
  patience=600 check 'muster.lm_eval: 3 ranks, one is killed' as_one_process lm_eval 3 1
  # lmms-eval: templates.sh.
  if [[ ${MUSTER_TESTS_LONG-} ]]; then
    patience=600 check 'lm-eval: 4 ranks' harness 2 2 "${sums[@]}"
    check 'lm-eval: 1 rank' harness 1 1 "${sums[@]}"
    check 'map-lm-eval.yaml' sweep_of_lm_eval
    check 'lmms-eval: 2 ranks' harness 2 1 "${letters[@]}"
    check 'lmms-eval: 1 rank' harness 1 1 "${letters[@]}"
    for harness in lm_eval lmms_eval; do
      for ranks in 1 4; do patience=600 check "muster.$harness: $ranks ranks" as_one_process "$harness" "$ranks"; done
      [[ $harness == lm_eval ]] || patience=600 check "muster.$harness: 3 ranks, one is killed" as_one_process "$harness" 3 1
      patience=600 check "muster.$harness: all ranks are killed, and 4 go on" all_are_killed "$harness"
      patience=600 check "muster.$harness: the time is up, and 4 go on" time_is_up "$harness"
    done
  fi
}
