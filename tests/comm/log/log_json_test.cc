#include "comm/log/log_json.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

const std::chrono::system_clock::time_point kTime{std::chrono::milliseconds(1795313440007)};

TEST(FormatTime, IsRfc3339InUtc) {
  EXPECT_EQ(FormatTime(kTime), "2026-11-22T02:10:40.007Z");
  EXPECT_EQ(FormatTime(std::chrono::system_clock::time_point{}), "1970-01-01T00:00:00.000Z");
}

std::string LineOf(std::string_view level, std::string_view event, const LogSubject& subject,
                   std::string_view message, std::initializer_list<LogField> fields) {
  return LogLineAsJson(kTime, level, event, subject, message, {fields.begin(), fields.size()});
}

TEST(LogLineAsJson, NamesTheEventAndItsFields) {
  EXPECT_EQ(
      LineOf("warning", "silent", {0, "gpu01", "slurm:4.0:0"}, "nothing was heard",
             {{"ranks", std::vector<int>{4, 5, 6, 7}},
              {"seconds", std::chrono::milliseconds(5250)},
              {"given_up", false},
              {"count", 3},
              {"peer", "198.18.1.3:4"}}),
      R"({"time":"2026-11-22T02:10:40.007Z","level":"warning","event":"silent","rank":0,"node":"gpu01",)"
      R"("job":"slurm:4.0:0","message":"nothing was heard","fields":{"ranks":"4-7","seconds":5.25,)"
      R"("given_up":false,"count":3,"peer":"198.18.1.3:4"}})");
}

TEST(LogLineAsJson, LeavesOutWhatIsNotKnown) {
  EXPECT_EQ(LineOf("info", "message", {}, "hello", {}),
            R"({"time":"2026-11-22T02:10:40.007Z","level":"info","event":"message","message":"hello"})");
}

TEST(LogLineAsJson, SurvivesBytesThatAreNoText) {
  EXPECT_EQ(LineOf("info", "message", {}, "\xff\n", {{"peer", "\xfe"}}),
            R"({"time":"2026-11-22T02:10:40.007Z","level":"info","event":"message",)"
            "\"message\":\"\xef\xbf\xbd\\n\",\"fields\":{\"peer\":\"\xef\xbf\xbd\"}}");
}

}  // namespace
}  // namespace muster
