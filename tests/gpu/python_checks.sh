# Sourced by `run`: PyTorch and lm-eval on the GPU, under muster.
# shellcheck shell=bash
# shellcheck disable=SC2154 # `run` sets bin, muster, files, top, here and on_cpu

python=${GPU_PYTHON:-python3}
module=(env PYTHONPATH="$top/bootstrap/python:${PYTHONPATH-}" LD_LIBRARY_PATH="$bin/bootstrap/c:${LD_LIBRARY_PATH-}" OMP_NUM_THREADS=1)

# '' if it can be used, else why not.
no_torch() {
  "$python" -c 'import sys
try:
    import torch
except ImportError as error:
    print(f"no GPU in {sys.executable}: {error}")
else:
    if not torch.cuda.is_available():
        print(f"no GPU in PyTorch {torch.__version__} of {sys.executable}")' 2>/dev/null || echo "no GPU in $python: it does not run"
}
no_harness() {
  "$python" -c 'import sys
try:
    import lm_eval.evaluator
except ImportError as error:
    print(f"no GPU program lm-eval in {sys.executable}: {error}")' 2>/dev/null
}

# torch_on DEVICE RANKS
torch_on() {
  as_shared "$2" "${module[@]}" "$python" "$here/torch_ranks.py" "$1" >"$files/out" 2>"$files/err" || fail "$(tail -n 20 "$files/err")"
  expect_like 'output of rank 0' "$(cat "$files/out")" "*$2 ranks: sums, gradients and broadcasts are right*"
  grep '^PyTorch' "$files/out" >"$files/said"
}

# The scores and samples are those of one process, with two ranks that share the device.
lm_eval_on() {
  local place=$files/evaluation
  local -a task=(--model hf --model_args 'pretrained=tiny,dtype=float32' --device "$1" --include_path lm_tasks --tasks muster_sums
    --batch_size 4 --log_samples)
  export HF_HOME=$files/hf HF_HUB_OFFLINE=1 HF_DATASETS_OFFLINE=1 PYTHONDONTWRITEBYTECODE=1
  cp -r "$top/tests/launchers/evaluation" "$place"
  cd "$place" || return
  "$python" make_tiny_model.py tiny
  "$python" -m lm_eval run "${task[@]}" --output_path "$place/one"
  "$muster" launch -n 2 -- "${module[@]}" "$python" -m muster.lm_eval run "${task[@]}" --output_path "$place/two"
  "$python" same_run.py "$place/one" "$place/two"
}

# check_python WORDS DEVICE: WORDS stand before the names.
check_python() {
  local why=''
  [[ $2 == cpu ]] || why=$(no_torch)
  if [[ $why ]]; then
    skip "$1${python_checks[0]}" "$why"
    skip "$1${python_checks[1]}" "$why"
    skip "$1${python_checks[2]}" "$why"
    return
  fi
  said 90 "$1${python_checks[0]}" torch_on "$2" 1
  said 90 "$1${python_checks[1]}" torch_on "$2" 2
  why=$(no_harness)
  if [[ $why ]]; then
    skip "$1${python_checks[2]}" "$why"
  else
    said 240 "$1${python_checks[2]}" lm_eval_on "$2"
  fi
}
