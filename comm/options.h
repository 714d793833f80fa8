// The configuration of the communication side. Plain values with the documented defaults
// (configs/REFERENCE.md); the YAML names are the field names. Filled by bootstrap/config.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "comm/address.h"
#include "comm/base/deadline.h"

namespace muster {

enum class AuthMethod : uint8_t { kAuto, kMunge, kSecret, kNone };
enum class RendezvousMethod : uint8_t { kAuto, kTcp, kPmix, kPmi, kTorchStore, kFile };
enum class Protect : uint8_t { kControl, kAll };
enum class Backend : uint8_t { kAuto, kNccl, kSocket };
enum class NcclDebug : uint8_t { kVersion, kWarn, kInfo, kTrace };

struct PortRange {
  uint16_t first = 61000;
  uint16_t last = 64999;  // inclusive

  friend bool operator==(const PortRange&, const PortRange&) = default;
};

struct RendezvousOptions {
  RendezvousMethod method = RendezvousMethod::kAuto;
  std::optional<Endpoint> endpoint;
  PortRange ports;
  std::optional<std::string> interface;  // "ib0", "eth*", "10.1.0.0/16"
  AuthMethod auth = AuthMethod::kAuto;
  Protect protect = Protect::kControl;
  std::optional<std::string> directory;     // for method file; absolute
  std::optional<std::string> slurm_helper;  // muster-slurm; "none"

  friend bool operator==(const RendezvousOptions&, const RendezvousOptions&) = default;
};

struct TimeoutOptions {
  Duration resolve = std::chrono::seconds(10);
  Duration rendezvous = std::chrono::minutes(10);  // first arrival to complete roster
  Duration handshake = std::chrono::seconds(5);
  Duration connect = std::chrono::seconds(30);
  Duration init = std::chrono::minutes(10);
  Duration collective = std::chrono::minutes(30);
  Duration barrier = std::chrono::minutes(30);
  Duration shutdown = std::chrono::seconds(30);
  bool cap_at_job_end = true;
  // Operations do not wait beyond this moment; once it has passed it has no effect. Not configured: derived
  // from the job's end.
  Deadline latest = Deadline::Never();

  friend bool operator==(const TimeoutOptions&, const TimeoutOptions&) = default;
};

struct LivenessOptions {
  Duration heartbeat = std::chrono::seconds(1);
  Duration suspect_after = std::chrono::seconds(5);
  Duration dead_after = std::chrono::seconds(30);
  Duration straggler_after = std::chrono::seconds(10);  // zero: never

  friend bool operator==(const LivenessOptions&, const LivenessOptions&) = default;
};

struct NcclOptions {
  bool share_device = false;             // two ranks of a node may use one GPU
  std::optional<std::string> interface;  // as rendezvous.interface, which is its default
  NcclDebug debug = NcclDebug::kWarn;    // NCCL_DEBUG
  std::optional<std::string> algorithm;  // NCCL_ALGO
  std::optional<std::string> protocol;   // NCCL_PROTO
  Duration abort_timeout = std::chrono::seconds(10);

  friend bool operator==(const NcclOptions&, const NcclOptions&) = default;
};

}  // namespace muster
