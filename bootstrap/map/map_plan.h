// The plan of `muster map`, from its configuration: complete, and checked, before anything is started.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bootstrap/config/config.h"
#include "bootstrap/map/attempt.h"
#include "bootstrap/map/items/item_source.h"
#include "comm/base/error.h"
#include "comm/map/journal/identity.h"
#include "comm/map/member.h"

namespace muster::map {

struct MapPlan {
  std::unique_ptr<ItemSource> items;
  std::vector<std::string> command;  // as it is written
  AttemptPlan attempt;               // all but what a rank adds: run, rank, own
  Identity identity;
  Options options;                    // all but the slots
  std::vector<std::string> warnings;  // of what is seldom meant; once for all ranks
};

// `command`: after --; else map.command. BLOCKS while it reads the items. Error: kUsage, kConfiguration: no
// items, no command, and the errors of ItemSource::Open and ItemTemplate::Parse.
Result<MapPlan> MakeMapPlan(const config::EffectiveConfig& effective,
                            const std::vector<std::string>& command);

// The plan for users, or as one object of JSON: the number of items, and the commands of the first. A value
// that differs from rank to rank stays a placeholder. Error: kSystem, of a file of items.
Result<std::string> DescribePlan(const MapPlan& plan, bool json);

}  // namespace muster::map
