# Sourced by `run`: cells of the matrix whose ranks meet by a file, without munge's help in it.
# shellcheck shell=bash
# shellcheck disable=SC2154 # run sets here, work and bin

export MUSTER_BIN_DIR=$bin
mkdir "$work/shared"
chmod 777 "$work/shared"
meeting_cells MUSTER_RENDEZVOUS_METHOD=file MUSTER_RENDEZVOUS_DIRECTORY="$work/shared"
