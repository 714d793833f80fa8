# Sourced by `run`: a tree of leaders, on 150 nodes. Only with MUSTER_TESTS_LONG=1. gpu02 is the inner node: it has the
# leaders of gpu114 to gpu150 below it.
# shellcheck shell=bash
# shellcheck disable=SC2154 # run and lib.sh set here, work and muster

# in_tree NAME CODE SCRIPT: SCRIPT is what each task does.
in_tree() {
  local code=0
  TEST_CLUSTER=$TEST_CLUSTER-150 on ctl env MUSTER_TIMEOUTS_RENDEZVOUS=30s \
    srun -N150 --ntasks-per-node=1 sh -c "$3" >"$work/tree-$1.out" 2>"$work/tree-$1.err" || code=$?
  expect "exit code of srun, $1" "$code" "$2"
}

forms() {
  in_tree forms 0 "exec '$muster' run -- sh -c 'echo \$RANK of \$WORLD_SIZE'"
  expect 'ranks' "$(sort -n "$work/tree-forms.out" | uniq)" "$(seq -f '%g of 150' 0 149)"
}

rank_killed() {
  in_tree rank 137 "exec '$muster' run -- sh -c '[ \$RANK = 1 ] && kill -9 \$\$; exec sleep 60'"
  expect_like 'report' "$(<"$work/tree-rank.err")" '*the run failed after *: rank 1 on gpu02 failed: signal 9 (Killed)*'
  expect_like 'all other ranks' "$(<"$work/tree-rank.err")" '*ended because of it: ranks 0,2-149 by SIGTERM*'
}

supervisor_killed() {
  in_tree supervisor 137 "exec '$muster' run -- sh -c '[ \$RANK = 1 ] && kill -9 \$PPID; exec sleep 60'"
  expect_like 'report' "$(<"$work/tree-supervisor.err")" \
    '*the run failed after *: rank 1 on gpu02 ended without leaving its group*'
  # Those behind gpu02 as well.
  expect_like 'all other ranks' "$(<"$work/tree-supervisor.err")" '*ended because of it: ranks 0,2-149 by SIGTERM*'
}

never_starts() {
  in_tree never 75 "[ \$SLURM_PROCID != 1 ] || exec sleep 40; exec '$muster' run -- true"
  expect_like 'report' "$(<"$work/tree-never.err")" \
    '*the group did not form within 30s: 149/150 ranks; missing gpu02: 1 (no contact with the node*'
}

# gpu120 to gpu150 are behind gpu02, which is here.
many_never_start() {
  in_tree many 75 "[ \$SLURM_PROCID -lt 119 ] || exec sleep 40; exec '$muster' run --report '$work/tree.json' -- true"
  expect_like 'report' "$(<"$work/tree-many.err")" \
    '*119/150 ranks; missing gpu\[*120*150\]: * (no contact with the node*'
  expect 'missing ranks in the report' "$(python3 -c '
import json, sys
report = json.load(open(sys.argv[1]))
missing = [rank for rank in report["ranks"] if rank["outcome"] == "missing"]
print(report["outcomes"]["missing"], len(missing), missing[0]["node"], missing[-1]["node"])' "$work/tree.json")" \
    '119-149 31 gpu120 gpu150'
}

if [[ -n ${MUSTER_TESTS_LONG-} ]]; then
  check '150 nodes' "$here/../cluster/up" --name "$TEST_CLUSTER-150" 150
  check 'tree: a group forms' forms
  check 'tree: a rank of the inner node is killed' rank_killed
  check 'tree: the supervisor of the inner node is killed' supervisor_killed
  check 'tree: the inner node never starts' never_starts
  check 'tree: nodes behind the inner node never start' many_never_start
  "$here/../cluster/down" --name "$TEST_CLUSTER-150"
fi
