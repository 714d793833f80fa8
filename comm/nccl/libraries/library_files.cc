#include "comm/nccl/libraries/library_files.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

namespace muster::nccl {
namespace {

namespace fs = std::filesystem;

using Names = std::vector<std::string>;

// The newest first, as cuda_library.cc prefers them.
const Names kCudart = {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"};
const Names kNccl = {"libnccl.so.2"};

void AddFiles(const fs::path& folder, const Names& names, std::vector<std::string>& files) {
  for (const std::string& name : names) {
    std::error_code error;
    if (fs::exists(folder / name, error)) files.push_back((folder / name).string());
  }
}

void AddHome(const std::string& home, const Names& names, std::vector<std::string>& files) {
  if (home.empty()) return;
  for (const char* library : {"lib", "lib64"}) AddFiles(fs::path(home) / library, names, files);
}

// PREFIX/lib/python3.12/site-packages/nvidia (Debian's: dist-packages), for each Python that is there.
std::vector<fs::path> NvidiaPackages(const std::string& prefix) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(fs::path(prefix) / "lib", error), end; !error && entry != end;
       entry.increment(error)) {
    if (!entry->path().filename().string().starts_with("python3")) continue;
    for (const char* packages : {"site-packages", "dist-packages"}) {
      found.push_back(entry->path() / packages / "nvidia");
    }
  }
  std::ranges::sort(found);
  return found;
}

// The packages of a Python environment, and conda's files beside them.
void AddPython(const std::string& prefix, const Names& packages, const Names& names,
               std::vector<std::string>& files) {
  if (prefix.empty()) return;
  for (const fs::path& nvidia : NvidiaPackages(prefix)) {
    for (const std::string& package : packages) AddFiles(nvidia / package / "lib", names, files);
  }
  AddFiles(fs::path(prefix) / "lib", names, files);
}

std::string CudaHome(const LibraryPlaces& places) {
  return places.cuda_home.empty() ? "/usr/local/cuda" : places.cuda_home;
}

void AddPythons(const LibraryPlaces& places, const Names& packages, const Names& names, LibraryFiles& files) {
  for (const std::string& prefix : {places.virtual_env, places.conda_prefix}) {
    AddPython(prefix, packages, names, files.preferred);
  }
  AddPython(places.user_base, packages, names, files.last_resorts);
  for (const std::string& prefix : places.system_prefixes) {
    AddPython(prefix, packages, names, files.last_resorts);
  }
}

}  // namespace

LibraryFiles FindNcclFiles(const LibraryPlaces& places) {
  LibraryFiles files;
  AddHome(places.nccl_home, kNccl, files.preferred);
  AddHome(CudaHome(places), kNccl, files.preferred);
  AddPythons(places, {"nccl"}, kNccl, files);
  return files;
}

LibraryFiles FindCudaFiles(const LibraryPlaces& places) {
  LibraryFiles files;
  AddHome(CudaHome(places), kCudart, files.preferred);
  AddPythons(places, {"cu13", "cuda_runtime"}, kCudart, files);
  return files;
}

bool HasNvidiaFiles(const std::string& root) {
  constexpr std::array kFiles = {"/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/dxg"};
  return std::ranges::any_of(kFiles,
                             [&](const char* file) { return access((root + file).c_str(), F_OK) == 0; });
}

}  // namespace muster::nccl
