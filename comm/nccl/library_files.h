// Where the libraries of NCCL and CUDA may lie on this machine, beside the loader's own search. PyTorch
// brings both in packages of their own, where no loader looks.
#pragma once

#include <string>
#include <vector>

namespace muster {

// The values of the variables of these names; empty: not set.
struct LibraryPlaces {
  std::string nccl_home;
  std::string cuda_home;
  std::string virtual_env;
  std::string conda_prefix;
};

// Files that are there, best first: NCCL_HOME, CUDA_HOME, then the Python environments in turn;
// /usr/local/cuda where CUDA_HOME is not set. BLOCKS for as long as the file system does.
std::vector<std::string> FindNcclFiles(const LibraryPlaces& places);
std::vector<std::string> FindCudaFiles(const LibraryPlaces& places);

}  // namespace muster
