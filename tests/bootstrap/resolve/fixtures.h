// The captured launcher environments of tests/testdata/env, and small changes to them.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bootstrap/environment/environment.h"

namespace muster::resolve {

// One line of an expected.tsv: its columns as text ("-", "!", "?3", "3").
struct ExpectedRank {
  std::string folder;
  std::string file;
  std::string rank;
  std::string world_size;
  std::string local_rank;
  std::string local_world_size;
  std::string host;
};

// The line of a meeting.tsv: the launcher, how its ranks find the root ("first-node"), the first node, the
// host or the store ("-": none), and the nodes of the placement.
struct ExpectedMeeting {
  std::string folder;
  std::string launcher;
  std::string root;
  std::string where;
  std::string nodes;
};
std::vector<ExpectedMeeting> AllMeetings();

// All folders; fails the test if there is none.
std::vector<ExpectedRank> AllExpected();
std::vector<std::string> AllFolders();

// A launcher that does not run here, by its documentation: one process's variables, and the tuple of the first
// line ("rank=3 world_size=4 job=flux:f58:0").
struct Documented {
  std::string launcher;  // the name of the file
  std::string tuple;
  Environment environment;
};
std::vector<Documented> AllDocumented(const std::string& folder = "tests/testdata/env/documented");

// "srun-block/3" -> tests/testdata/env/srun-block/3.env.
Environment Fixture(std::string_view name);

// NAME=VALUE text.
Environment Env(std::string_view text);

using Change = std::pair<std::string_view, std::optional<std::string_view>>;
// The environment with these variables set, or unset if the value is nullopt.
Environment Changed(const Environment& environment, std::initializer_list<Change> changes);

}  // namespace muster::resolve
