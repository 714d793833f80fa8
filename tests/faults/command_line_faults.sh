# Sourced by `run`: what is wrong before anything has started. Exit codes and the whole message.
# shellcheck shell=bash
# shellcheck disable=SC2154 # lib.sh sets muster

folder=$work/command_line
mkdir "$folder"

# refused CODE MESSAGE [NAME=VALUE]... -- [ARG...]: muster with that environment, and no other but log.time, in a folder of its
# own.
refused() {
  local code=$1 message=$2 variables=(PATH=/usr/bin:/bin MUSTER_LOG_TIME=none) said got=0
  shift 2
  while [[ $1 != -- ]]; do variables+=("$1") && shift; done
  said=$(cd "$folder" && env -i "${variables[@]}" timeout 10 "$muster" "${@:2}" 2>&1) || got=$?
  expect message "$said" "muster: error: $message"
  expect 'exit code' "$got" "$code"
}

# bad_file TEXT MESSAGE
bad_file() {
  printf '%b' "$1" >"$folder/eval.yaml"
  refused 78 "$2" -- run -c eval.yaml -- true
}

in_step() {
  local code=0 said
  said=$(on ctl srun --quiet --input=none -w gpu02 -n1 env "$1" "$muster" run -- true 2>&1) || code=$?
  expect message "$(grep -v ^srun: <<<"$said")" "muster: gpu02: error: $2"
  expect 'exit code' "$code" 65
}

duration='is not a duration: a number is expected (write for example 500ms, 30s, 10m or 16h40m; a bare number is seconds)'
force='another launcher than torch-env: MUSTER_LAUNCHER=NAME (also --launcher NAME, or launcher: NAME in the configuration)'

check 'file: an unknown key' bad_file 'timeouts:\n  rendezvous: 10m\n  colective: 1h\n' \
  'eval.yaml:3:3: unknown key "timeouts.colective"; did you mean "timeouts.collective"?'
check 'file: a bad duration' bad_file 'timeouts:\n  rendezvous: ten\n' "eval.yaml:2:15: timeouts.rendezvous: \"ten\" $duration"
check 'file: broken YAML' bad_file 'run: {command: [a\nlog: 3\n' 'eval.yaml:2:4: broken YAML: end of sequence flow not found'
check 'file: another type' bad_file 'timeouts: 3\n' 'eval.yaml:1:11: timeouts: a map of keys is expected, not a scalar'
check 'file: an unknown word' bad_file 'backend: nccl2\n' 'eval.yaml:1:10: backend: "nccl2" is not one of auto, nccl, socket'
check 'file: not there' refused 78 \
  "cannot read none.yaml: No such file or directory (give a file that this user can read; a relative path begins at $folder)" \
  -- run -c none.yaml -- true

check 'setting: an unknown key' refused 78 '--set: unknown key "timeouts.colective"; did you mean "timeouts.collective"?' \
  -- run --set timeouts.colective=1h -- true
check 'setting: no value' refused 78 \
  '--set "timeouts.collective": the value is missing (write --set key=value, for example --set timeouts.collective=1h)' \
  -- run --set timeouts.collective -- true
check 'setting: a bad value in the environment' refused 78 "MUSTER_TIMEOUTS_COLLECTIVE: \"soon\" $duration" \
  MUSTER_TIMEOUTS_COLLECTIVE=soon -- run -- true

check 'usage: no command' refused 64 'muster needs a command (muster help lists the commands)' --
check 'usage: an unknown command' refused 64 'muster has no command "rnu"; did you mean "run"? (muster help lists the commands)' -- rnu
check 'usage: an unknown option' refused 64 'muster run has no option "--nosuch" (muster run --help lists the options)' \
  -- run --nosuch -- true
check 'usage: nothing to run' refused 64 \
  'nothing to run: no CMD, and the configuration has no run.command (muster run -- CMD ARGS...)' -- run
check 'usage: a negative rank' refused 64 \
  '--rank: "-1" is not a number from 0 to 2147483647 (muster run --help lists the options)' -- run --rank -1 --world-size 2 -- true
check 'usage: a rank without a world' refused 64 '--world-size is missing: --rank and --world-size go together' \
  -- run --rank 3 -- true
check 'usage: a batch script is no rank' refused 64 \
  'this is the salloc shell of Slurm job 7 (4 tasks on gpu01), not one of its tasks (start it with srun: srun muster ...; for a world of one: MUSTER_LAUNCHER=none (also --launcher none, or launcher: none in the configuration))' \
  SLURM_JOB_ID=7 SLURM_JOB_NODELIST=gpu01 SLURM_NTASKS=4 -- run -- true

check 'environment: WORLD_SIZE alone' refused 65 \
  'WORLD_SIZE=4 is set but RANK is not: half a pair (start the ranks with a launcher, or unset WORLD_SIZE)' WORLD_SIZE=4 -- run -- true
check 'environment: RANK alone' refused 65 \
  'RANK=1 is set but WORLD_SIZE is not: half a pair (set both or neither: unset RANK, or force another launcher)' RANK=1 -- run -- true
check 'environment: a rank outside its world' refused 65 "RANK=4 is outside WORLD_SIZE=4 (correct or unset it, or force $force)" \
  RANK=4 WORLD_SIZE=4 -- run -- true
check 'environment: no number' refused 65 \
  "RANK=\"x\" is not a whole number from 0 to 2147483647 (correct or unset it, or force $force)" RANK=x WORLD_SIZE=4 -- run -- true
check 'environment: SLURM_PROCID is no number' in_step SLURM_PROCID=x \
  "SLURM_PROCID=\"x\" is not a whole number from 0 to 2147483647 (correct or unset it, or force ${force/torch-env/slurm})"
check 'environment: SLURM_PROCID outside the step' in_step SLURM_PROCID=1 \
  "SLURM_PROCID=1 is outside SLURM_STEP_NUM_TASKS=1 (correct or unset it, or force ${force/torch-env/slurm})"
