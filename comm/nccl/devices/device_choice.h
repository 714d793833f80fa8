// Selects a process's own GPU among the visible ones, and checks whether two ranks of a node would share one.
// Pure functions: nothing here uses a GPU.
#pragma once

#include <string>
#include <vector>

#include "comm/base/error.h"
#include "comm/roster.h"

namespace muster::nccl {

struct DeviceQuestion {
  int visible = 0;            // result of cudaGetDeviceCount; at least 1
  int local_rank = 0;         // 0..local_size-1
  int local_size = 1;         // ranks on this node
  std::string visible_list;   // CUDA_VISIBLE_DEVICES as it is set: numbers or UUIDs; empty: not set
  bool share_device = false;  // ranks of this node may use one GPU
};

struct DeviceChoice {
  int ordinal = 0;
  // Ranks of this node have other visible GPUs, if any: peer-to-peer and CUDA IPC may not work between them.
  bool peers_hidden = false;
};

// One visible: that one (a launcher has bound each task to its own). Enough for all ranks of the node: the
// local rank. Else ranks have to share: round-robin if `share_device`; otherwise kConfiguration with advice.
Result<DeviceChoice> ChooseDevice(const DeviceQuestion& question);

// `uuid_of_rank[r]` is the UUID of rank r's GPU ("GPU-...", or of a MIG part). Two ranks of one node with the
// same one: kDisagreement, names both, unless `share_device`. The same sentence on every rank.
Status CheckDistinctDevices(const Roster& roster, const std::vector<std::string>& uuid_of_rank,
                            bool share_device);

}  // namespace muster::nccl
