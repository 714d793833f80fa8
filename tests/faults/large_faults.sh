# Sourced by `run`: one of many ranks on 32 nodes dies.
# shellcheck shell=bash
# shellcheck disable=SC2154 # run sets here, work and bin

export MUSTER_BIN_DIR=$bin
check '32 nodes' "$here/../cluster/up" --name "$TEST_CLUSTER-32" 32
part env TMPDIR="$work" TEST_CLUSTER="$TEST_CLUSTER-32" timeout --kill-after=30 1500 "$here/large" \
  ${MUSTER_TESTS_LONG:+2048}
"$here/../cluster/down" --name "$TEST_CLUSTER-32"
