#include "tests/bootstrap/resolve/fixtures.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "comm/base/parse.h"

namespace muster::resolve {
namespace {

const std::filesystem::path kRoot = "tests/testdata/env";

}  // namespace

std::vector<std::string> AllFolders() {
  std::vector<std::string> folders;
  for (const auto& entry : std::filesystem::directory_iterator(kRoot)) {
    if (std::filesystem::exists(entry.path() / "expected.tsv")) folders.push_back(entry.path().filename());
  }
  std::sort(folders.begin(), folders.end());
  EXPECT_GE(folders.size(), 36u);
  return folders;
}

std::vector<ExpectedRank> AllExpected() {
  std::vector<ExpectedRank> all;
  for (const std::string& folder : AllFolders()) {
    std::ifstream table(kRoot / folder / "expected.tsv");
    std::string line;
    std::getline(table, line);
    EXPECT_EQ(line, "file\trank\tworld_size\tlocal_rank\tlocal_world_size\thost") << folder;
    while (std::getline(table, line)) {
      const auto columns = Split(line, '\t');
      if (columns.size() != 6) {
        ADD_FAILURE() << folder << ": " << line;
        continue;
      }
      const auto text = [&](size_t i) { return std::string(columns[i]); };
      all.push_back({folder, text(0), text(1), text(2), text(3), text(4), text(5)});
    }
  }
  return all;
}

std::vector<ExpectedMeeting> AllMeetings() {
  std::vector<ExpectedMeeting> all;
  for (const std::string& folder : AllFolders()) {
    std::ifstream table(kRoot / folder / "meeting.tsv");
    std::string line;
    if (!std::getline(table, line)) continue;  // no launched rank
    EXPECT_EQ(line, "launcher\troot\twhere\tnodes") << folder;
    std::getline(table, line);
    const auto columns = Split(line, '\t');
    if (columns.size() != 4) {
      ADD_FAILURE() << folder << ": " << line;
      continue;
    }
    const auto text = [&](size_t i) { return std::string(columns[i]); };
    all.push_back({folder, text(0), text(1), text(2), text(3)});
  }
  return all;
}

std::vector<Documented> AllDocumented(const std::string& folder) {
  std::vector<Documented> all;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path());
    std::string line;
    std::getline(file, line);
    EXPECT_EQ(line.substr(0, 7), "# rank=") << entry.path();
    auto environment = Environment::FromFile(entry.path().string());
    EXPECT_TRUE(environment) << entry.path();
    all.push_back({entry.path().stem().string(), line.substr(2), environment.value_or(Environment())});
  }
  EXPECT_FALSE(all.empty());
  return all;
}

Environment Fixture(std::string_view name) {
  auto environment = Environment::FromFile((kRoot / (std::string(name) + ".env")).string());
  if (!environment) {
    ADD_FAILURE() << environment.error().message;
    return {};
  }
  return *std::move(environment);
}

Environment Env(std::string_view text) {
  auto environment = Environment::FromText(text);
  if (!environment) {
    ADD_FAILURE() << environment.error().message;
    return {};
  }
  return *std::move(environment);
}

Environment Changed(const Environment& environment, std::initializer_list<Change> changes) {
  Environment::Variables variables = environment.All();
  for (const auto& [name, value] : changes) {
    if (value) {
      variables[std::string(name)] = *value;
    } else {
      variables.erase(std::string(name));
    }
  }
  Environment changed = Environment::FromVariables(std::move(variables));
  return environment.live() ? changed.AsProcess(*environment.process()) : changed;
}

}  // namespace muster::resolve
