// Where the libraries of NCCL and CUDA may lie on this machine, beside the loader's own search. PyTorch
// brings both in packages of their own, where no loader looks.
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
  std::string user_base;  // where `pip install --user` installs: PYTHONUSERBASE, else ~/.local
  // Where pip and conda install for everybody, in a container's image for one.
  std::vector<std::string> system_prefixes = {"/usr/local", "/usr", "/opt/conda"};
};

// Files that are there, best first.
struct LibraryFiles {
  std::vector<std::string> preferred;
  std::vector<std::string> last_resorts;  // after the loader's own search
};

// Preferred: NCCL_HOME, CUDA_HOME, then the Python environments that are active; /usr/local/cuda where
// CUDA_HOME is not set. Last resorts: Python's packages of this user, then those of everybody. BLOCKS for as
// long as the file system does.
LibraryFiles FindNcclFiles(const LibraryPlaces& places);
LibraryFiles FindCudaFiles(const LibraryPlaces& places);

}  // namespace muster::nccl
