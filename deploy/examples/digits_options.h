// The command line of the digits program.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "comm/base/error.h"

namespace muster::examples {

struct DigitsOptions {
  std::string data = "deploy/examples/data/digits.csv";
  std::optional<std::string> predictions;  // written by rank 0
  uint64_t repeat = 1;
  bool help = false;

  friend bool operator==(const DigitsOptions&, const DigitsOptions&) = default;
};

// The words after the program's name; "--data FILE" and "--data=FILE" are the same. Error: kUsage for an
// unknown or incomplete option, kConfiguration for a bad number.
Result<DigitsOptions> ParseDigitsOptions(std::span<const char* const> arguments);

std::string_view DigitsHelp();

}  // namespace muster::examples
