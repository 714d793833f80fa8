# Sourced by `run`: deploy/spank, where Slurm has spank_prepend_task_argv (23.11 and later: debian13 and unstable).
# shellcheck shell=bash
# shellcheck disable=SC2016 # the variables are the job's, not ours
# shellcheck disable=SC2154 # `run` sets top and files; `fresh` sets dir and member

has_prepend() { on ctl grep -q spank_prepend_task_argv /usr/include/slurm/spank.h; }

# with_plugin ARGUMENT... -- COMMAND...: while plugstack.conf names the plug-in. srun and slurmstepd read it for each step.
with_plugin() {
  local code=0 line="required $files/muster.so" conf=/var/lib/muster-cluster/$TEST_CLUSTER/plugstack.conf
  for (( ; $#; )); do
    local argument=$1
    shift
    [[ $argument != -- ]] || break
    line+=" $argument"
  done
  echo "$line" >"$conf"
  "$@" || code=$?
  rm "$conf"
  return "$code"
}

compiles_plugin() { on ctl cc -shared -fPIC -O2 -Wall -Wextra -Werror -o "$files/muster.so" "$top/deploy/spank/muster.c"; }

plugin_is_listed() { with_plugin -- ctl srun --help | grep -q -- '--muster=\[CONFIG\] *start each task as: muster run'; }

plugin_starts_muster() {
  fresh
  with_plugin "muster=$PWD/bazel-bin/bootstrap/cli/muster" -- step --muster -N2 -n4 "${member[@]}"
  evaluated 4
  fresh
  with_plugin -- step --muster -N2 -n4 "${member[@]}"
  evaluated 4
}

plugin_takes_a_configuration() {
  fresh
  printf 'run:\n  env: {GREETING: hello}\n' >"$dir/said.yaml"
  chmod 644 "$dir/said.yaml"
  with_plugin -- step "--muster=$dir/said.yaml" -N1 -n2 sh -c 'echo "$GREETING $RANK/$WORLD_SIZE"' >"$dir/out"
  expect output "$(sort "$dir/out")" $'hello 0/2\nhello 1/2'
  with_plugin -- expect_code 78 step "--muster=$dir/absent.yaml" -N1 -n1 true 2>"$dir/err"
  expect_like message "$(cat "$dir/err")" "*$dir/absent.yaml*"
}

plugin_leaves_other_steps_alone() {
  fresh
  expect_output output 'none none' with_plugin -- step -N1 -n1 sh -c 'echo ${MUSTER_CONTROL-none} ${RANK-none}'
  with_plugin -- ctl sbatch --muster --wrap true 2>"$dir/err" && fail 'sbatch has taken it'
  expect_like message "$(cat "$dir/err")" "*unrecognized option '--muster'*"
}

plugin_names_what_is_absent() {
  fresh
  with_plugin muster=/nonexistent/muster -- step --muster -N1 -n1 true 2>"$dir/err" && fail 'the task was started'
  expect_like message "$(cat "$dir/err")" \
    '*--muster: /nonexistent/muster, as plugstack.conf has it, is no program on this node*'
  with_plugin -- step --muster -N1 -n1 --export=PATH=/usr/bin true 2>"$dir/err" && fail 'the task was started'
  expect_like message "$(cat "$dir/err")" '*--muster: no program muster in PATH on this node*'
}

check_spank() {
  if [[ $1 != debian13 && $1 != unstable ]] && ! has_prepend; then
    echo "$1: its Slurm has no spank_prepend_task_argv"
    return
  fi
  check "$1: SPANK: compiles" compiles_plugin
  check "$1: SPANK: srun --help" plugin_is_listed
  check "$1: SPANK: srun --muster" plugin_starts_muster
  check "$1: SPANK: srun --muster=CONFIG" plugin_takes_a_configuration
  check "$1: SPANK: other steps" plugin_leaves_other_steps_alone
  check "$1: SPANK: no muster on a node" plugin_names_what_is_absent
}
