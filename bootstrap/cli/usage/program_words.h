// The words of the program on a command line: all that follow muster's own options.
//
// CLI11 divides a word [a,b] into the words a and b if an option or argument takes several, and takes `--` for the
// value of an option that lacks one. So the words of the program are marked before CLI11 reads them.
#pragma once

#include <string>
#include <vector>

#include "bootstrap/cli/usage/habits.h"

namespace muster::cli {

// Whether an option is written with a typographic dash: the first word that is no option begins so, in front of `--`.
// Error: kUsage.
Status CheckDashes(const OwnOptions& own, const std::vector<std::string>& words);

// "--log-dir=" as "--log-dir" and an empty word: for CLI11 it is an option that lacks its value.
std::vector<std::string> DivideEmptyValues(const OwnOptions& own, std::vector<std::string> words);

// `words`: those after the command's name. Without the words of the program if an option in front of `--` lacks its
// value.
std::vector<std::string> MarkProgram(const OwnOptions& own, std::vector<std::string> words);

// The words of the program as they were given.
std::vector<std::string> UnmarkProgram(std::vector<std::string> marked);

}  // namespace muster::cli
