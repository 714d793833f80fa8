# Sourced by `run`: checks that end in time, also when a process hangs in the GPU's driver and no signal ends it.
# shellcheck shell=bash
# shellcheck disable=SC2154 # checks.sh sets scratch and reruns, `run` sets files and minutes

# The time is up when SECONDS reaches it.
up_at=$((minutes * 60))
check_number=0

# A process of a check has its number in its environment. Reading /proc can hang as well: its reader is not awaited.
end_processes_of() {
  (
    for environment in /proc/[0-9]*/environ; do
      ! grep -qzx "GPU_CHECK=$1" "$environment" 2>/dev/null || kill -KILL "${environment//[!0-9]/}" 2>/dev/null
    done
  ) &
}

# ends_within SECONDS PID: false if it has not ended by then. Sets ended_with.
ends_within() {
  local timer
  sleep "$1" &
  timer=$!
  ended_with=0
  # The shell reports a job that a signal has ended.
  {
    wait -n "$2" "$timer" || ended_with=$?
    kill "$timer" || return 1
    wait "$timer"
  } 2>/dev/null
  return 0
}

# said SECONDS NAME FUNCTION...: as `check`, and prints what the function has left in $files/said. After SECONDS, or when the
# time of all checks is up, its processes are killed; a process that survives that is left behind.
said() {
  local seconds=$1 left=$((up_at - SECONDS)) pid code
  : >"$reruns"
  : >"$files/said"
  : >"$scratch"
  if [[ $left -le 0 ]]; then
    echo "not run: the $minutes minutes were over" >"$scratch"
    verdict "$2" 1 "$scratch" "$reruns"
    return
  fi
  [[ $seconds -le $left ]] || seconds=$left
  check_number=$((check_number + 1))
  (
    export GPU_CHECK=$$.$check_number
    set -eu
    "${@:3}"
  ) >"$scratch" 2>&1 </dev/null &
  pid=$!
  if ends_within "$seconds" "$pid"; then
    code=$ended_with
  else
    code=124
    kill -KILL "$pid" 2>/dev/null
    end_processes_of "$$.$check_number"
    ends_within 5 "$pid" || true
    echo "it did not end within $seconds s" >>"$scratch"
  fi
  verdict "$2" "$code" "$scratch" "$reruns"
  cat "$files/said"
}
