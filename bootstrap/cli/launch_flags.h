// The flags of `muster launch`.
#pragma once

#include <string>
#include <vector>

namespace muster::cli {

struct LaunchFlags {
  std::string ranks;  // of each machine; empty: not said
  int nodes = 1;
  int node = -1;
  int max_restarts = 0;
  bool until_stdin_closes = false;
  std::string host_file;  // empty: this machine alone starts
  std::string ssh = "ssh -o BatchMode=yes";
  std::vector<std::string> command;
};

}  // namespace muster::cli
