// Possible locations of the libraries of NCCL and CUDA on this machine, beside the loader's own search.
// PyTorch has both in its own packages, which no loader searches.
#pragma once

#include <string>
#include <vector>

namespace muster::nccl {

// The first four are the values of the variables of these names; empty: not set.
struct LibraryPlaces {
  std::string nccl_home;
  std::string cuda_home;
  std::string virtual_env;
  std::string conda_prefix;
  std::string user_base;  // target of `pip install --user`: PYTHONUSERBASE, else ~/.local
  // Prefixes of system-wide installations by pip and conda, for example in a container's image.
  std::vector<std::string> system_prefixes = {"/usr/local", "/usr", "/opt/conda"};
};

// Files that are there, best first.
struct LibraryFiles {
  std::vector<std::string> preferred;
  std::vector<std::string> last_resorts;  // after the loader's own search
};

// Preferred: NCCL_HOME, CUDA_HOME, then the Python environments that are active; /usr/local/cuda if CUDA_HOME
// is not set. Last resorts: Python's packages of this user, then the system-wide ones. BLOCKS as long as the
// file system does.
LibraryFiles FindNcclFiles(const LibraryPlaces& places);
LibraryFiles FindCudaFiles(const LibraryPlaces& places);

// Whether this machine can have an NVIDIA GPU at all, from its files: machines without one load no library. True if
// there is the kernel's driver, a device of it, or a Windows host's. `root` is a prefix of the paths.
bool HasNvidiaFiles(const std::string& root = "");

}  // namespace muster::nccl
