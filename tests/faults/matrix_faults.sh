# Sourced by `run`: the fault matrix, and that it would notice a control plane that is not there.
# shellcheck shell=bash
# shellcheck disable=SC2154 # run sets here, work, bin and full

export MUSTER_BIN_DIR=$bin
part env TMPDIR="$work" timeout --kill-after=30 1500 "$here/matrix/matrix" "${full[@]}"
part env TMPDIR="$work" timeout --kill-after=30 300 "$here/matrix/matrix" --canary
