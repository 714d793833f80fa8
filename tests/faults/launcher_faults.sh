# Sourced by `run`: cells of the matrix whose ranks meet on the server that srun keeps for them.
# shellcheck shell=bash
# shellcheck disable=SC2154 # run sets here, work and bin

export MUSTER_BIN_DIR=$bin
# A rank that is missing, kill -9 of a rank, of a leader, of the root, and strangers at the root's port.
for type in pmi2 pmix; do
  part env TMPDIR="$work" SLURM_MPI_TYPE=$type MUSTER_RENDEZVOUS_METHOD=${type%2} \
    timeout --kill-after=30 600 "$here/matrix" never 'killed rendezvous' 'killed collective' 'leader-killed rendezvous' \
    'root-killed rendezvous' 'root-killed idle' 'scanner rendezvous' 'half-open rendezvous'
done
