// Options that users of other launchers write. One row is one option with all its spellings:
// `--nproc_per_node`, `--nproc-per-node`, `-np` and `--np` differ in dashes and underscores alone.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace muster::cli {

enum class Meaning : uint8_t {
  kNone,     // the command has the option itself, or it means nothing to it
  kSame,     // another name of the option in `text`
  kHolds,    // true of muster without it: left out
  kAddress,  // with kPort: --endpoint
  kPort,
  kModule,   // the program is a Python module
  kInstead,  // `text` is the remedy, an imperative; "{}" in it is replaced by the value
};

struct Habit {
  struct Reading {
    Meaning meaning = Meaning::kNone;
    std::string_view text = {};
  };
  std::string_view word;  // without dashes in front, with "-" for "_"
  bool takes_value;
  Reading run;
  Reading launch;
  Reading member = {};  // muster map, muster check
};

std::span<const Habit> Habits();

}  // namespace muster::cli
