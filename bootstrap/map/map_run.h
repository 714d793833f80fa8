// A process's part in a map, from the group to the outcome.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bootstrap/config/config.h"
#include "bootstrap/environment/environment.h"
#include "bootstrap/join/startup.h"
#include "bootstrap/map/map_plan.h"
#include "bootstrap/resolve/detect.h"
#include "comm/base/error.h"
#include "comm/group/group.h"
#include "comm/map/member.h"

namespace muster::map {

// An item that was given up.
struct GivenUp {
  std::string key;
  std::string node;
  int rank = -1;
  uint32_t attempts = 0;
  std::string error;
};

struct MapEnd {
  Outcome outcome;
  std::vector<GivenUp> given_up;  // the first ones; of the rank that reports
  bool reports = false;           // this rank prints for all
  int signal = 0;                 // the signal that requested the end
};

struct MapStart {
  const Environment& environment;
  const config::Config& config;
  const join::StartOptions& asked;
  const resolve::Resolution& resolution;
  // Member::Join
  std::function<Result<std::unique_ptr<Member>>(Group&, const Identity&, const Options&, Deadline)> join;
};

// Forms the group, joins the map, works on its items and leaves. On the main thread, before there is another one:
// signals come here, and orphans. INT, HUP or TERM ends the work on this rank within run.grace and some seconds, and
// before there is a group the process. BLOCKS until the map is over, also after an error of this rank's slots. Error: as
// EnterGroup, Member::Join and Worker::Run; kUsage: the program is not there.
Result<MapEnd> RunMap(const MapStart& start, MapPlan& plan);

// Of the rank that reports: 0; 79: items were given up; 80: items are left. Of the others 0: the first to exit with 79
// would make a supervisor end rank 0 before its report. Of every rank, after a signal with items left: 130 for INT,
// else 80.
int ExitStatusOf(const MapEnd& end);
// The end of the map, for users: a line for each of the first items that were given up, and one with the
// numbers.
std::vector<std::string> DescribeEnd(const MapEnd& end);
// The same as one object of JSON.
std::string EndJson(const MapEnd& end, const MapPlan& plan);

}  // namespace muster::map
