// A host list as Slurm's own library expands it.
#pragma once

#include <slurm/slurm.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace muster::resolve {

// None if the library does not take it.
inline std::vector<std::string> BySlurm(const std::string& text) {
  std::vector<std::string> names;
  hostlist_t list = slurm_hostlist_create(text.c_str());
  if (list == nullptr) return names;
  while (char* name = slurm_hostlist_shift(list)) {
    names.emplace_back(name);
    std::free(name);
  }
  slurm_hostlist_destroy(list);
  return names;
}

}  // namespace muster::resolve
