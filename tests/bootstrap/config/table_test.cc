#include "bootstrap/config/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace muster::config {
namespace {

TEST(Keys, AreUniqueDocumentedAndGroupedBySection) {
  std::set<std::string_view> seen_keys;
  std::vector<std::string_view> sections;
  for (const Key& key : Keys()) {
    EXPECT_TRUE(seen_keys.insert(key.path).second) << key.path;
    EXPECT_FALSE(key.doc.empty()) << key.path;
    EXPECT_EQ(key.doc.find_first_of("\n|"), std::string_view::npos) << key.path;
    const std::string_view section = SectionOf(key.path);
    if (!section.empty() && (sections.empty() || sections.back() != section)) sections.push_back(section);
  }
  EXPECT_THAT(sections, testing::ElementsAreArray(Sections()));
}

// Enumerators are written by index: one without a word, or a word without one, would be shown as another.
TEST(Keys, HaveAWordForEveryEnumerator) {
  const auto words = [](std::string_view path) { return FindKey(path)->choices.size(); };
  EXPECT_EQ(words("backend"), static_cast<size_t>(Backend::kSocket) + 1);
  EXPECT_EQ(words("rendezvous.method"), static_cast<size_t>(RendezvousMethod::kFile) + 1);
  EXPECT_EQ(words("rendezvous.auth"), static_cast<size_t>(AuthMethod::kNone) + 1);
  EXPECT_EQ(words("rendezvous.protect"), static_cast<size_t>(Protect::kAll) + 1);
  EXPECT_EQ(words("nccl.debug"), static_cast<size_t>(NcclDebug::kTrace) + 1);
  EXPECT_EQ(words("run.store"), static_cast<size_t>(RunStore::kProgram) + 1);
  EXPECT_EQ(words("run.stdin"), static_cast<size_t>(RunStdin::kNone) + 1);
  EXPECT_EQ(words("log.level"), static_cast<size_t>(LogLevel::kOff) + 1);
  EXPECT_EQ(words("log.format"), static_cast<size_t>(LogFormat::kJson) + 1);
}

TEST(VariableName, IsThePathInCapitals) {
  EXPECT_EQ(VariableName(*FindKey("timeouts.collective")), "MUSTER_TIMEOUTS_COLLECTIVE");
  EXPECT_EQ(VariableName(*FindKey("liveness.suspect_after")), "MUSTER_LIVENESS_SUSPECT_AFTER");
  EXPECT_EQ(VariableName(*FindKey("launcher")), "MUSTER_LAUNCHER");
}

// These carry facts from `muster run` to its program; a key of the same name would be read as a setting
// there.
TEST(VariableName, IsNoneOfTheOthersThatMusterUses) {
  for (const char* taken :
       {"MUSTER_RANK", "MUSTER_WORLD_SIZE", "MUSTER_LOCAL_RANK", "MUSTER_LOCAL_WORLD_SIZE",
        "MUSTER_NODE_RANK", "MUSTER_NUM_NODES", "MUSTER_NODE", "MUSTER_GROUP", "MUSTER_CONTROL",
        "MUSTER_JOB_KEY", "MUSTER_BATCH_JOB", "MUSTER_SUPERVISOR_PID", "MUSTER_SECRET", "MUSTER_CONFIG"}) {
    EXPECT_TRUE(std::ranges::none_of(Keys(), [&](const Key& key) { return VariableName(key) == taken; }))
        << taken;
  }
}

TEST(SectionOf, SplitsAtTheFirstDot) {
  EXPECT_EQ(SectionOf("timeouts.collective"), "timeouts");
  EXPECT_EQ(NameOf("timeouts.collective"), "collective");
  EXPECT_EQ(SectionOf("launcher"), "");
  EXPECT_EQ(NameOf("launcher"), "launcher");
  EXPECT_EQ(NameOf("run.env.A"), "env.A");
}

TEST(NearestKey, FindsSpellingsSectionsAndMisplacedNames) {
  EXPECT_EQ(NearestKey("timeouts.colective"), "timeouts.collective");
  EXPECT_EQ(NearestKey("collective"), "timeouts.collective");
  EXPECT_EQ(NearestKey("rendezvous.handshake"), "timeouts.handshake");
  EXPECT_EQ(NearestKey("timeout"), "timeouts");
  EXPECT_EQ(NearestKey("randezvous"), "rendezvous");
  EXPECT_EQ(NearestKey("something.else.entirely"), "");
}

}  // namespace
}  // namespace muster::config
