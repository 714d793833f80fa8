#include "bootstrap/join/ports_of_others.h"

#include "comm/base/parse.h"

namespace muster::join {
namespace {

constexpr uint64_t kJaxPorts = 1U << 12;
constexpr uint64_t kFirstJaxPort = 65535 - kJaxPorts + 1;

}  // namespace

std::vector<uint16_t> PortsOfOthers(std::string_view slurm_job_id) {
  const auto job = ParseInteger<uint64_t>(slurm_job_id);
  if (!job) return {};
  return {static_cast<uint16_t>(kFirstJaxPort + *job % kJaxPorts)};
}

}  // namespace muster::join
