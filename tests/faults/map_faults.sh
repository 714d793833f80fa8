# Sourced by `run`: maps whose programs, supervisors, nodes and roots are killed or stopped at random.
# shellcheck shell=bash
# shellcheck disable=SC2154 # run sets here, work and bin

kills=4
[[ -z ${MUSTER_TESTS_LONG-} ]] || kills=500
part env TMPDIR="$work" MUSTER_BIN_DIR="$bin" "$here/map_kills.py" --kills "$kills"
