# Sourced by `run`: an allocation without a rank is refused at once, with advice.
# shellcheck shell=bash
# shellcheck disable=SC2154 # `run` sets here and files; `fresh` sets dir and member

# refusal KIND TASKS NODE: what `refused` left in $dir, from such a place on gpu[01-02].
refusal() {
  local job code milliseconds what
  read -r job <"$dir/job"
  read -r code milliseconds <"$dir/run"
  what="this is the $1 of Slurm job $job ($2 tasks on gpu[01-02]), not one of its tasks"
  expect 'exit code of run' "$code" 64
  # At once, unlike all that waits: the shortest of those is MUSTER_TIMEOUTS_RENDEZVOUS.
  [[ $milliseconds -lt 15000 ]] || fail "it took $milliseconds ms"
  expect 'standard output' "$(cat "$dir/stdout")" ''
  expect 'first words' "$(head -c "$((15 + ${#what}))" "$dir/err")" "muster: error: $what"
  expect_like 'advice' "$(cat "$dir/err")" '*[(]start it with srun: srun muster*'
  expect_code 1 test -e "$dir/ran"
  expect 'exit code of resolve' "$(cat "$dir/resolved")" 64
  shape "$what" "{\"manager\":\"slurm\",\"job_id\":\"$job\",\"kind\":\"$1\",\"nodelist\":\"gpu[01-02]\",$(
    )\"num_nodes\":2,\"tasks\":$2,\"node\":$3}"
  nothing_remains
}

# shape MESSAGE ALLOCATION: all of resolve --json but the hint and who was considered, which are for people.
shape() {
  local json
  json=$(sed 's/"hint":"start it with srun: [^"]*"/"hint":"..."/
    s/"considered":\[{"launcher".*}\]}$/"considered":[...]}/' "$dir/json")
  expect 'resolve --json' "$json" \
    "{\"error\":{\"code\":\"not_launched\",\"message\":\"$1\",\"hint\":\"...\"},\"allocation\":$2,\"considered\":[...]}"
}

in_batch_script() {
  fresh
  batch -w 'gpu[01-02]' -N2 --ntasks-per-node=2 <<<"$here/refused $dir"
  refusal 'batch script' 4 '"gpu01"'
}

in_salloc_shell() {
  fresh
  ctl salloc --quiet -w 'gpu[01-02]' -N2 --ntasks-per-node=2 "$here/refused" "$dir"
  refusal 'salloc shell' 4 null
}

in_interactive_step() {
  fresh
  printf '%s %s\nexit\n' "$here/refused" "$dir" |
    timeout 60 script -qec "$top/tests/cluster/on ctl salloc -w gpu[01-02] -N2 --ntasks-per-node=2" \
      /dev/null >"$dir/typed"
  refusal 'interactive step' 4 '"gpu01"'
}

# A stale RANK in the script does not make it a rank either.
in_batch_script_with_rank() {
  fresh
  batch -w 'gpu[01-02]' -N2 --ntasks-per-node=2 <<-END
	export WORLD_SIZE=4 MASTER_ADDR=gpu01 MASTER_PORT=29500
	$here/refused $dir
	srun muster run -- ${member[*]}
	END
  refusal 'batch script' 4 '"gpu01"'
  evaluated 4
}

# The new script has the old step's variables.
submitted_from_a_step() {
  fresh
  printf '%s\n' '#!/bin/sh' "$here/refused $dir" "srun muster run -- ${member[*]}" "echo \$? >$dir/ended" >"$dir/script"
  step -N1 -n1 -w gpu03 sbatch --quiet --output="$dir/out" -w 'gpu[01-02]' -N2 --ntasks-per-node=2 "$dir/script"
  until_true 30 test -s "$dir/ended" || fail "$(cat "$dir/out")"
  expect 'exit code' "$(cat "$dir/ended")" 0
  refusal 'batch script' 4 '"gpu01"'
  evaluated 4
}

# Its variables could be those of an mpirun in the script, too.
submitted_from_a_rank_of_mpich() {
  fresh
  printf '%s\n' '#!/bin/sh' "muster resolve >$dir/resolved" "echo \$? >$dir/ended" >"$dir/script"
  ctl mpirun.mpich -launcher fork -n 2 sh -c "[ \$PMI_RANK = 0 ] || exec sbatch --quiet --output=$dir/out -N1 -n1 $dir/script"
  until_true 30 test -s "$dir/ended" || fail "$(cat "$dir/out")"
  expect 'exit code' "$(cat "$dir/ended")" 0
  expect_like warning "$(cat "$dir/out" "$dir/resolved")" \
    '*hydra gives rank 1 of 2 *, as set before the batch script of Slurm job [1-9]* started: *: unset PMI_RANK PMI_SIZE *'
}

# Nobody else could be meant.
of_one_task() {
  fresh
  batch -N1 -n1 <<<"muster run -- ${member[*]}"
  evaluated 1
}

# Nor could a rank of four be.
of_one_task_with_a_rank_outside_of_its_world() {
  fresh
  expect_code 65 batch -N1 -n1 --export=ALL,RANK=4,WORLD_SIZE=4,LOCAL_RANK=0 <<<"muster run -- ${member[*]}" 2>/dev/null
  expect_like message "$(cat "$dir/out")" '*RANK=4 is outside WORLD_SIZE=4*'
}

check_allocations() {
  check 'refused: batch script' in_batch_script
  check 'refused: salloc shell' in_salloc_shell
  check 'refused: interactive step' in_interactive_step
  check 'refused: batch script with WORLD_SIZE, not its srun' in_batch_script_with_rank
  check 'refused: batch script submitted by a step, not its srun' submitted_from_a_step
  check 'a warning: batch script submitted by a rank of MPICH' submitted_from_a_rank_of_mpich
  check 'not refused: batch script of one task' of_one_task
  check 'refused: batch script of one task with RANK=4 of 4' of_one_task_with_a_rank_outside_of_its_world
}
