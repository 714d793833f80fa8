#include "bootstrap/check/gather.h"

#include <gnu/libc-version.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "comm/base/parse.h"
#include "comm/base/version.h"
#include "comm/net/hosts.h"
#include "comm/system/cpus.h"
#include "comm/system/directory_reader.h"
#include "comm/system/proc_file.h"

namespace muster::check {
namespace {

bool IsGpu(std::string_view name) {
  constexpr std::string_view kPrefix = "nvidia";
  return name.starts_with(kPrefix) && ParseInteger<uint32_t>(name.substr(kPrefix.size())).has_value();
}

uint32_t MtuOf(const std::string& interface) {
  const std::string text = ReadProcFile("/sys/class/net/" + interface + "/mtu").value_or("");
  return ParseInteger<uint32_t>(Trim(text)).value_or(0);
}

std::string InterfaceWith(const std::string& address) {
  const auto interfaces = net::LocalInterfaces();
  if (!interfaces) return {};
  const auto found = std::ranges::find_if(
      *interfaces, [&](const net::LocalInterface& one) { return one.address.Host() == address; });
  return found == interfaces->end() ? std::string() : found->name;
}

}  // namespace

Result<Limit> LimitOf(__rlimit_resource resource, std::string_view what) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0) {
    return WithHint(Fail(Code::kSystem, "cannot read the limit on {}: {}", what, ErrnoText(errno)),
                    "allow prlimit64 in the seccomp profile of the container");
  }
  const auto value = [](rlim_t of) { return of == RLIM_INFINITY ? kUnlimited : uint64_t{of}; };
  return Limit{value(limit.rlim_cur), value(limit.rlim_max)};
}

Result<RankFacts> FactsOfThisProcess(std::optional<std::string> visible_devices) {
  RankFacts facts;
  MUSTER_TRY(const Limit files, LimitOf(RLIMIT_NOFILE, "open files"));
  MUSTER_TRY(const Limit locked, LimitOf(RLIMIT_MEMLOCK, "locked memory"));
  facts.open_files = files.soft;
  facts.open_files_most = files.hard;
  facts.locked_memory = locked.soft;
  if (const auto cpus = CpusOf()) facts.cpus = static_cast<uint32_t>(cpus->size());
  facts.visible_devices = std::move(visible_devices);
  return facts;
}

NodeFacts FactsOfThisNode(const std::vector<std::string>& addresses) {
  NodeFacts facts;
  facts.muster = kVersion;
  utsname system{};
  if (uname(&system) == 0) facts.kernel = system.release;
  facts.libc = gnu_get_libc_version();
  if (!addresses.empty()) facts.interface = InterfaceWith(addresses.front());
  if (!facts.interface.empty()) facts.mtu = MtuOf(facts.interface);
  struct statvfs shm {};
  if (statvfs("/dev/shm", &shm) == 0) {
    facts.shm_free = uint64_t{shm.f_bavail} * shm.f_frsize;
    facts.shm_total = uint64_t{shm.f_blocks} * shm.f_frsize;
  }
  facts.gpus = static_cast<uint32_t>(std::ranges::count_if(NamesIn("/dev"), IsGpu));
  facts.infiniband = !NamesIn("/sys/class/infiniband").empty();
  return facts;
}

std::vector<GpuToCheck> GpusToCheck(const std::vector<nccl::GpuHello>& hellos) {
  std::vector<GpuToCheck> gpus;
  for (const nccl::GpuHello& hello : hellos) {
    if (!hello.verdict.usable()) return {};
    gpus.push_back({hello.verdict.uuid, hello.verdict.name});
  }
  return gpus;
}

void AddGpuFacts(const std::vector<nccl::GpuHello>& hellos, Evidence& evidence) {
  if (hellos.empty()) return;
  for (size_t node = 0; node < evidence.nodes.size(); ++node) {
    const std::vector<int> ranks = evidence.roster.RanksOn(static_cast<int>(node));
    const nccl::GpuHello& hello = hellos.at(static_cast<size_t>(ranks.front()));
    NodeFacts& facts = evidence.nodes[node];
    facts.gpu = hello.verdict.name;
    facts.gpu_problem = hello.verdict.problem;
    facts.driver = hello.driver;
    facts.cuda = hello.cuda;
    facts.nccl = hello.nccl;
  }
}

}  // namespace muster::check
