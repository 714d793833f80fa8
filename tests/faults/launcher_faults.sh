# Sourced by `run`: cells of the matrix whose ranks meet on the server that srun keeps for them, or in a store.
# shellcheck shell=bash
# shellcheck disable=SC2154 # run sets here, work and bin

export MUSTER_BIN_DIR=$bin
meeting_cells SLURM_MPI_TYPE=pmi2 MUSTER_RENDEZVOUS_METHOD=pmi
meeting_cells SLURM_MPI_TYPE=pmix MUSTER_RENDEZVOUS_METHOD=pmix
"$here/../cluster/on" gpu02 "$muster" store --listen gpu02:29555 >"$work/store" 2>&1 &
store=$!
check 'a store' until_true 20 grep -q 'listening on' "$work/store"
meeting_cells MUSTER_RENDEZVOUS_METHOD=torch-store MUSTER_RENDEZVOUS_ENDPOINT=gpu02:29555
kill "$store"
wait "$store"
