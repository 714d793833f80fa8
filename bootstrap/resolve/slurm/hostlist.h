// Slurm's host lists ("gpu[01-04,07],login1"), in process: containers have no scontrol.
// Grammar and order: Slurm's src/common/hostlist.c as of 25.11, with suffixes after a bracket; tested against
// libslurm.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "comm/base/error.h"

namespace muster::resolve {

// Every name, in Slurm's order, duplicates kept. Error: kBadEnvironment naming the text and what is wrong
// with it. A range holds at most 65536 numbers, a list at most 262144 names, a name at most 255 characters.
Result<std::vector<std::string>> ExpandHostlist(std::string_view text);

}  // namespace muster::resolve
