// The plan of attempts at items with a shell line for each.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bootstrap/map/attempt.h"
#include "tests/comm/base/folder.h"

namespace muster::map {

// Items "i0", "i1", ..., each `line` for sh.
class Commands {
 public:
  // In a folder of its own; `output` and `working_directory`: elsewhere.
  explicit Commands(const std::string& line, const std::vector<std::string>& expected = {}, int items = 1,
                    const std::string& output = "", const std::string& working_directory = "") {
    config::MapItems list;
    for (int i = 0; i < items; ++i) list.list.push_back({{"item", "i" + std::to_string(i)}});
    source = *ItemSource::Open(list, "s.yaml:1:1");
    plan.output = output.empty() ? folder.File("out") : output;
    plan.run = "run";
    plan.working_directory = working_directory.empty() ? folder.path() : working_directory;
    plan.command = *ParseTemplates("the command", {"sh", "-c", line}, *source);
    plan.expect = *ParseTemplates("map.expect", expected, *source);
    plan.grace = std::chrono::seconds(20);
    plan.rank = 5;
    plan.own = {{"rank", "5"}, {"node", "gpu01"}};
    slot.environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "MUSTER_SLOT=0"};
  }

  Result<AttemptEnd> Run(const StopFlag& stop = {}, uint64_t index = 0, uint32_t attempt = 1) const {
    NextDirectory next(plan.output, plan.run, plan.rank, slot.number);
    return RunAttempt(plan, slot, *source->Read(index), attempt, stop, next);
  }

  Folder folder;
  std::unique_ptr<ItemSource> source;
  AttemptPlan plan;
  AttemptSlot slot;
};

}  // namespace muster::map
