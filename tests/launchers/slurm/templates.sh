# Sourced by `run`: the batch scripts of deploy/sbatch, as they stand. After evaluations.sh, whose programs they run.
# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034,SC2154 # lib.sh uses patience; `run` sets here, top and files; `fresh` sets dir

# What the template of that name was submitted as: `job`. It ran when it is no longer known as waiting or at work.
sbatch_flags=()
submit_template() {
  job=$(ctl sbatch --parsable --output="$dir/out" "${sbatch_flags[@]}" "$top/deploy/sbatch/$1.sbatch" "${@:2}")
}
job_state() { ctl scontrol show job "$job" | sed -n 's/.*JobState=\([A-Z]*\).*/\1/p'; }
job_over() { [[ $(job_state) =~ ^(COMPLETED|FAILED|CANCELLED|TIMEOUT|NODE_FAIL)$ ]]; }
finished() {
  until_true "${patience:-60}" job_over || fail "$(job_state): $(tail -n 50 "$dir/out")" || return
  expect 'state of the job' "$(job_state)" COMPLETED || fail "$(tail -n 50 "$dir/out")"
}

# template NAME LINE ARGUMENT...: the job says that.
template() {
  fresh
  submit_template "$1" "${@:3}"
  finished
  grep -qxF "$2" "$dir/out" || fail "$(tail -n 50 "$dir/out")"
}

# What the job said is shown: a job that fails is not looked into.
mpi_template() {
  trap 'cat "$dir/out"' EXIT
  template pmix 'sum 6 of 4' "$files/mpi_sum"
}

# evaluation_here: with a tiny model; scores and samples are those of one process.
evaluation_here() {
  fresh
  cd "$files/evaluation" || return
  ln -sfn "$top/configs" configs
  HARNESS=lmms_eval submit_template eval "$dir/scores" "${letters[@]:2}"
  finished
  python check_run.py "$dir/scores" 1
}

# evaluation RANKS
evaluation() {
  local sbatch_flags=(--ntasks-per-node=$(($1 / 2)))
  evaluation_here
}

# A job has two minutes, and all batches together need four on two ranks.
evaluation_in_jobs() {
  local patience=900 restarts sbatch_flags=(--time=2 --ntasks-per-node=1)
  export SECONDS_A_BATCH=8
  evaluation_here
  restarts=$(ctl scontrol show job "$job" | sed -n 's/.*Restarts=\([0-9]*\).*/\1/p')
  [[ $restarts -ge 2 ]] || fail "it was queued again $restarts times: $(tail -n 50 "$dir/out")"
}

# evaluation_again CODE: in its first life the time is up after some batches; the second one does none, and exits with CODE. A
# variable `code` of the user does not change it.
evaluation_again() {
  forty
  step -N1 -n1 muster map --items "$dir/items.txt" --output "$dir/map" -- true 2>"$dir/err"
  cat >"$dir/python" <<'EOF'
#!/bin/sh
[ "$RANK" = 0 ] || exit 0
[ ! -e "$DONE" ] || exit "$LAST"
mkdir -p "$(dirname "$DONE")" && cp -r "$JOURNAL" "$DONE"
exit 80
EOF
  chmod +x "$dir/python"
  PATH=$dir:$PATH JOURNAL=$dir/map/journal DONE=$dir/scores/journal/call LAST=$1 code=3 submit_template eval "$dir/scores"
  until_true "${patience:-60}" job_over
  expect_like 'the job' "$(ctl scontrol show job "$job")" "*Restarts=1 *ExitCode=$1:0*"
}

evaluation_goes_on() { evaluation_again 0; }

evaluation_stops() {
  evaluation_again 80
  grep -qxF "not queued again: of $dir/scores nothing was done" "$dir/out" || fail "$(tail -n 50 "$dir/out")"
}

# requeued [SBATCH_FLAG...]: a job's time is minutes at least; without flags that shorten it Slurm's signal before it is up
# comes by hand.
requeued() {
  local rank
  fresh
  job=$(ctl sbatch --parsable --output="$dir/out" "$@" "$top/deploy/sbatch/requeue.sbatch" "$here/python/resumes.py" "$dir")
  until_true 60 has_files "$dir" 5 # four ranks at work, and the output
  for rank in 0 1 2 3; do until_true 10 test -e "$dir/at-work-$rank"; done
  [[ $# -gt 0 ]] || ctl scancel --batch --signal=USR1 "$job"
  finished
  for rank in 0 1 2 3; do
    grep -qxF "rank $rank of 4 goes on in life 1" "$dir/out" || fail "rank $rank: $(tail -n 50 "$dir/out")"
  done
}

# What the training ends with is what the job ends with.
requeue_fails() {
  fresh
  submit_template requeue -c 'raise SystemExit(3)'
  until_true "${patience:-60}" job_over
  expect 'state of the job' "$(job_state)" FAILED
  expect_like 'exit code' "$(ctl scontrol show job "$job")" '*ExitCode=3:0*'
}

# IMAGE is a folder here, which Apptainer itself takes as well; the program sees that it is in there.
contained_template() {
  mkdir -p "$files/image"
  touch "$files/image/inside"
  PATH=$here:$PATH IMAGE=$files/image template container 'sum 6 of 4' sh -c 'test -e /inside && exec python "$0" sum_of_ranks' \
    "$here/python/training.py"
}

short() {
  local file
  for file in "$top"/deploy/sbatch/*.sbatch; do
    [[ $(wc -l <"$file") -lt 15 ]] || fail "$file has 15 lines or more"
  done
}

check_templates() {
  local patience=300 OMP_NUM_THREADS=1 PATH=$PATH PYTHONPATH=$files/wheel_module
  export OMP_NUM_THREADS PATH PYTHONPATH PYTHONDONTWRITEBYTECODE=1 ACCELERATE_USE_CPU=1
  export HF_HOME=$files/hf HF_HUB_OFFLINE=1 HF_DATASETS_OFFLINE=1 LMMS_EVAL_PLUGINS=muster_lmms
  PATH=$("$top/tests/python/venv" eval 2>/dev/null)/bin:$PATH || return 0
  [[ -d $files/evaluation ]] || check 'harnesses: a tiny model' harness_place
  [[ -d $files/wheel_module ]] || check "evaluations: muster's wheel" wheel_in "$files/wheel_module"
  [[ -e $files/mpi_sum ]] || check 'MPI: a program' mpicc.openmpi "$here/mpi_sum.c" -o "$files/mpi_sum"
  check 'sbatch templates: under 15 lines' short
  check 'eval.sbatch: 2 ranks' evaluation 2
  if [[ ${MUSTER_TESTS_LONG-} ]]; then
    check 'eval.sbatch: 4 ranks' evaluation 4
    check 'eval.sbatch: several jobs' evaluation_in_jobs
  fi
  check 'eval.sbatch: the time is up' evaluation_goes_on
  check 'eval.sbatch: the time is up, and nothing was done' evaluation_stops
  # evaluations.sh has DDP.
  check 'train.sbatch' template train 'sum 6 of 4' "$here/python/training.py" sum_of_ranks
  check 'per-node.sbatch' template per-node 'sum 6 of 4' "$here/python/training.py" sum_of_ranks
  check 'pmix.sbatch' unless_open_mpi_crashes mpi_template
  check 'container.sbatch' contained_template
  check 'requeue.sbatch' requeued
  check 'requeue.sbatch: a failure' requeue_fails
  [[ -z ${MUSTER_TESTS_LONG-} ]] || check 'requeue.sbatch: by the clock' requeued --time=1 --signal=B:USR1@10
}
