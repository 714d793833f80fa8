#include "bootstrap/resources/gpu_count.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "comm/base/parse.h"
#include "comm/system/directory_reader.h"

namespace muster {
namespace {

namespace fs = std::filesystem;
using Variables = std::map<std::string, std::string, std::less<>>;

constexpr std::string_view kAmd = "0x1002";
constexpr std::string_view kIntel = "0x8086";

std::string FirstWord(const fs::path& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

bool Exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// "nvidia3" for the prefix "nvidia".
bool IsNumbered(std::string_view name, std::string_view prefix) {
  return name.starts_with(prefix) && ParseInteger<int>(name.substr(prefix.size())).has_value();
}

int NamedIn(std::string_view list) { return static_cast<int>(DevicesIn(list).size()); }

class Counter {
 public:
  Counter(const Variables& environment, const std::string& root) : environment_(environment), root_(root) {}

  GpuCount Run() const {
    const int nvidia = NvidiaFiles();
    const int amd = nvidia > 0 ? 0 : AmdFiles();
    const int intel = nvidia > 0 || amd > 0 ? 0 : OfVendor(kIntel);
    // Slurm sets the variables of all vendors unless gres.conf names one.
    if (intel > 0) return WithTiles(intel);
    if (nvidia > 0 || (Has("CUDA_VISIBLE_DEVICES") && amd == 0)) {
      // There may be more MIG instances than GPUs.
      return Visible("NVIDIA", {"CUDA_VISIBLE_DEVICES"}, Has("CUDA_VISIBLE_DEVICES") ? 0 : nvidia);
    }
    if (amd > 0 || Has("ROCR_VISIBLE_DEVICES") || Has("HIP_VISIBLE_DEVICES")) {
      const bool hip = Has("HIP_VISIBLE_DEVICES");
      return Visible("AMD", {"ROCR_VISIBLE_DEVICES", hip ? "HIP_VISIBLE_DEVICES" : "CUDA_VISIBLE_DEVICES"},
                     amd);
    }
    if (Has("ZE_AFFINITY_MASK")) return WithTiles(0);
    return {0, "",
            fmt::format(
                "there is no {0}/dev/nvidia0 (NVIDIA), no GPU of {0}/dev/kfd (AMD), and no discrete GPU of "
                "Intel in {0}/dev/dri",
                root_),
            ""};
  }

 private:
  bool Has(std::string_view name) const { return environment_.contains(name); }

  // Each list chooses among what the one before it has left; `files`: 0: unknown.
  GpuCount Visible(const char* vendor, std::initializer_list<std::string_view> names, int files) const {
    int left = files;
    bool known = files > 0;
    for (const std::string_view name : names) {
      const auto list = environment_.find(name);
      if (list == environment_.end()) continue;
      const int named = NamedIn(list->second);
      left = known ? std::min(left, named) : named;
      known = true;
      if (left == 0) return {0, "", fmt::format("{}=\"{}\" names none", name, list->second), ""};
    }
    return {left, vendor, "", std::string(names.begin()[names.size() - 1])};
  }

  // "0.0,0.1": two tiles of one GPU are two devices.
  GpuCount WithTiles(int files) const {
    const auto mask = environment_.find("ZE_AFFINITY_MASK");
    const bool all = mask == environment_.end() || mask->second.empty();
    const int gpus = all ? files : NamedIn(mask->second);
    return {gpus, gpus > 0 ? "Intel" : "", all && gpus == 0 ? "ZE_AFFINITY_MASK is empty" : "",
            "ZE_AFFINITY_MASK"};
  }

  int NvidiaFiles() const {
    return static_cast<int>(std::ranges::count_if(
        NamesIn(root_ + "/dev"), [](const std::string& name) { return IsNumbered(name, "nvidia"); }));
  }

  int AmdFiles() const {
    if (!Exists(root_ + "/dev/kfd")) return 0;
    const fs::path topology = root_ + "/sys/class/kfd/kfd/topology/nodes";
    if (!Exists(topology)) return OfVendor(kAmd);
    return static_cast<int>(std::ranges::count_if(
        NamesIn(topology), [&](const std::string& node) { return IsUsableGpu(topology / node); }));
  }

  // CPUs are nodes as well, and have the id 0. A GPU that a control group or a container withholds cannot be
  // read, or has no device file.
  bool IsUsableGpu(const fs::path& node) const {
    const auto id = ParseInteger<uint64_t>(FirstWord(node / "gpu_id"));
    if (!id || *id == 0) return false;
    std::ifstream properties(node / "properties");
    std::string name;
    std::string value;
    while (properties >> name >> value) {
      if (name == "drm_render_minor" && value != "0") return Exists(root_ + "/dev/dri/renderD" + value);
    }
    return true;
  }

  int OfVendor(std::string_view vendor) const {
    return static_cast<int>(std::ranges::count_if(NamesIn(root_ + "/dev/dri"), [&](const std::string& name) {
      if (!IsNumbered(name, "renderD")) return false;
      const fs::path device = fs::path(root_ + "/sys/class/drm") / name / "device";
      return FirstWord(device / "vendor") == vendor && !(vendor == kIntel && IsIntegrated(device));
    }));
  }

  // A processor's own GPU is a device of the root bus: 0000:00:02.0.
  static bool IsIntegrated(const fs::path& device) {
    std::error_code error;
    const std::string address = fs::canonical(device, error).filename();
    return !error && address.find(":00:") == address.find(':');
  }

  const Variables& environment_;
  const std::string& root_;
};

}  // namespace

GpuCount CountGpus(const Variables& environment, const std::string& root) {
  return Counter(environment, root).Run();
}

}  // namespace muster
