# Sourced by `run`: cells of the matrix whose ranks meet by a file, without munge's help in it.
# shellcheck shell=bash
# shellcheck disable=SC2154 # run sets here, work and bin

export MUSTER_BIN_DIR=$bin
mkdir "$work/shared"
chmod 777 "$work/shared"
# A rank that is missing, kill -9 of a rank, of a leader, of the root, and strangers at the root's port.
part env TMPDIR="$work" MUSTER_RENDEZVOUS_METHOD=file MUSTER_RENDEZVOUS_DIRECTORY="$work/shared" \
  timeout --kill-after=30 600 "$here/matrix" never 'killed rendezvous' 'killed collective' 'leader-killed rendezvous' \
  'root-killed rendezvous' 'root-killed idle' 'scanner rendezvous' 'half-open rendezvous'
