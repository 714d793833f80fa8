// The files of --log-dir, with the output of a rank's program.
#pragma once

#include <string>
#include <string_view>

#include "comm/base/error.h"
#include "comm/base/unique_fd.h"

namespace muster::output {

struct LogFileName {
  int rank = 0;
  int world_size = 1;
  int incarnation = 0;  // restarts of the job and of the group so far
  std::string node;
};

// "rank03.0.gpu01.err": sorted by rank. `stream`: "out" or "err".
std::string ToString(const LogFileName& name, std::string_view stream);

// Open for appending: a second run adds to the files. The directory is made, with its parents. Files that
// other users may have prepared there are refused (comm/log/open_for_writing.h, also for O_NONBLOCK). Error:
// kSystem, names the file.
Result<UniqueFd> OpenLogFile(const std::string& directory, const std::string& name);

}  // namespace muster::output
