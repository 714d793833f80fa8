// One attempt at one item: its program, from an empty directory to a result.
//
// The program's standard output and error are files of the directory; it has no input. Once it has ended, nothing
// that it has started is left.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bootstrap/map/attempt_directory.h"
#include "bootstrap/map/items/item_source.h"
#include "bootstrap/map/items/template.h"
#include "bootstrap/map/programs_at_work.h"
#include "bootstrap/map/stop_flag.h"
#include "comm/base/deadline.h"
#include "comm/base/error.h"

namespace muster::map {

// The same for all attempts of a rank.
struct AttemptPlan {
  std::string output;                                           // absolute
  std::string run;                                              // the name of this run (attempt_directory.h)
  std::string working_directory;                                // muster's own
  std::vector<ItemTemplate> command;                            // argv
  std::vector<std::pair<std::string, ItemTemplate>> variables;  // run.env
  std::vector<ItemTemplate> expect;
  std::optional<Duration> timeout;
  Duration grace{};  // between SIGTERM and SIGKILL
  int rank = 0;
  OwnValues own;  // of the rank (template.h)
  std::shared_ptr<ProgramsAtWork> programs = std::make_shared<ProgramsAtWork>();
};

struct AttemptSlot {
  int number = 0;
  std::vector<std::string> environment;  // NAME=VALUE, of every program of this slot
};

struct AttemptEnd {
  enum class Kind : uint8_t {
    kDone,
    kFailed,
    kInterrupted,  // by the flag; the directory is gone
  };
  Kind kind = Kind::kDone;
  // kDone: JSON, {"exit":0,"directory":"model=a","values":{...}}, the same whichever rank works on the item; its
  // directory is in place. kFailed: the reason, and the last lines of the program's standard error.
  std::string text;
  Duration took{};
};

// BLOCKS until the program and all that it started have ended, `grace` longer than the timeout or the flag at
// most. The thread lives as long as the call (process::Child). `next`: the slot's, for this attempt and the
// next. Error: kSystem: this rank can attempt nothing, for no fault of the item (a full disk, no more
// processes).
Result<AttemptEnd> RunAttempt(const AttemptPlan& plan, const AttemptSlot& slot, const SourceItem& item,
                              uint32_t attempt, const StopFlag& stop, NextDirectory& next);

// Absent if the program of every item can be found, as far as that is the same for all. For the plan's slots.
Status CheckProgram(const AttemptPlan& plan, const AttemptSlot& slot);

}  // namespace muster::map
