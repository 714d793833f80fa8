// A command line that cannot be parsed: the error in it, and the nearest valid word.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "comm/base/error.h"

namespace muster::cli {

struct BadCommandLine {
  std::string_view command;             // empty: the first word is no command
  std::vector<std::string> unknown;     // words that the parser could not use
  std::string problem;                  // the parser's sentence
  std::vector<std::string_view> names;  // of all commands, or of this command's options, without dashes
};

// Code: kUsage.
Error UsageProblem(const BadCommandLine& line);

}  // namespace muster::cli
