#include "bootstrap/report/report.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "comm/base/unique_fd.h"
#include "tests/bootstrap/run/records.h"
#include "tests/comm/base/another_user.h"
#include "tests/comm/base/print_error.h"
#include "tests/comm/map/map_at_work.h"

namespace muster::report {
namespace {

using nlohmann::json;

TEST(ReportJson, TellsOfAFailedRun) {
  const json report = json::parse(ReportJson(run::FailedRun(), "0.1.0"));
  EXPECT_EQ(report["schema"], 1);
  EXPECT_EQ(report["muster"], "0.1.0");
  EXPECT_EQ(report["job"], "slurm:4.0:0");
  EXPECT_EQ(report["group"], "0123456789abcdef0123456789abcdef");
  EXPECT_EQ(report["command"], json({"python", "evaluate.py", "--task", "a <b>"}));
  EXPECT_EQ(report["began"], "2026-11-22T02:10:40.007Z");
  EXPECT_EQ(report["ended"], "2026-11-22T02:11:02.317Z");
  EXPECT_EQ(report["seconds"], 22.31);
  EXPECT_EQ(report["exit_status"], 3);
  EXPECT_EQ(report["world_size"], 16);
  EXPECT_EQ(report["root"], 0);
  EXPECT_EQ(
      report["failure"],
      json({{"code", "peer_lost"},
            {"message", "rank 9 on gpu03 failed: exit 3"},
            {"hint", ""},
            {"rank", 9},
            {"node", "gpu03"},
            {"exit_status", 3},
            {"at_s", 12.31},
            {"time", "2026-11-22T02:10:52.317Z"},
            {"last_lines",
             {"Traceback (most recent call last):", "  File \"x.py\", line 3", "RuntimeError: <boom>"}}}));
  EXPECT_EQ(report["outcomes"],
            json({{"ok", "14"}, {"failed", "9"}, {"terminated", "0-5,7,8,10-13,15"}, {"killed", "6"}}));
}

TEST(ReportJson, TimesThePhases) {
  const json phases = json::parse(ReportJson(run::FailedRun(), "0.1.0"))["phases"];
  EXPECT_EQ(phases["rendezvous"]["from_s"], 0.003);
  EXPECT_EQ(phases["rendezvous"]["to_s"], 0.31);
  EXPECT_EQ(phases["rendezvous"]["first"], json({{"rank", 0}, {"node", "gpu01"}, {"at_s", 0.003}}));
  EXPECT_EQ(phases["rendezvous"]["last"]["rank"], 15);
  EXPECT_EQ(phases["rendezvous"]["slowest"].size(), 10U);
  EXPECT_EQ(phases["rendezvous"]["slowest"][0]["rank"], 15);
  EXPECT_EQ(phases["resolve"]["last"]["at_s"], 0.002);
  EXPECT_EQ(phases["init"], nullptr);
  EXPECT_EQ(phases["run"]["from_s"], 0.31);
  EXPECT_EQ(phases["run"]["last"], json({{"rank", 6}, {"node", "gpu02"}, {"at_s", 22.31}}));
}

TEST(ReportJson, HasEveryRank) {
  const json ranks = json::parse(ReportJson(run::FailedRun(), "0.1.0"))["ranks"];
  ASSERT_EQ(ranks.size(), 16U);
  EXPECT_EQ(ranks[6], json({{"rank", 6},
                            {"node", "gpu02"},
                            {"outcome", "killed"},
                            {"arrived_s", 0.03675},
                            {"exit_code", nullptr},
                            {"signal", 9},
                            {"out_of_memory", "no"},
                            {"resolve_s", 0.002},
                            {"join_s", 0.3},
                            {"run_s", 22.0}}));
  EXPECT_EQ(ranks[9]["exit_code"], 3);
  EXPECT_EQ(ranks[14]["outcome"], "ok");
  EXPECT_EQ(ranks[14]["run_s"], nullptr);
}

TEST(ReportJson, SaysWhoNeverCame) {
  const json report = json::parse(ReportJson(run::NeverFormed(), "0.1.0"));
  EXPECT_EQ(report["group"], nullptr);
  EXPECT_EQ(report["failure"]["rank"], nullptr);
  EXPECT_EQ(report["failure"]["exit_status"], nullptr);
  EXPECT_EQ(report["outcomes"], json({{"missing", "8-11"}, {"not_started", "0-7,12-15"}}));
  EXPECT_EQ(report["phases"]["rendezvous"]["to_s"], nullptr);
  EXPECT_EQ(report["phases"]["run"], nullptr);
  EXPECT_EQ(report["ranks"][8]["node"], "gpu03");
  EXPECT_EQ(report["ranks"][8]["arrived_s"], nullptr);
}

TEST(ReportJson, HasTheMaps) {
  RunRecord record = run::GoodRun(2, 1);
  EXPECT_EQ(json::parse(ReportJson(record, "0.1.0"))["maps"], json::array());
  record.maps = {map::MapAtWork()};
  const json map = json::parse(ReportJson(record, "0.1.0"))["maps"][0];
  EXPECT_EQ(map["name"], "python eval.py {model}");
  EXPECT_EQ(map["ranks"][1]["node"], "gpu02");
}

TEST(ReportJson, SurvivesBytesThatAreNoText) {
  RunRecord record = run::FailedRun();
  record.command = {"\xff"};
  EXPECT_EQ(json::parse(ReportJson(record, "0.1.0"))["command"], json({"\xef\xbf\xbd"}));
}

class WriteReportTest : public testing::Test {
 protected:
  void SetUp() override {
    directory = testing::TempDir() + "write_report." + std::to_string(getpid());
    std::filesystem::create_directory(directory);
  }
  void TearDown() override { std::filesystem::remove_all(directory); }
  static std::string Content(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  std::vector<std::string> Files() const {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(directory))
      files.push_back(entry.path().filename());
    return files;
  }

  std::string directory;
};

TEST_F(WriteReportTest, TheNameSaysTheForm) {
  ASSERT_TRUE(CheckReportPath(directory + "/a.json"));
  ASSERT_TRUE(WriteReport(directory + "/a.json", run::FailedRun(), "0.1.0"));
  ASSERT_TRUE(WriteReport(directory + "/a.html", run::FailedRun(), "0.1.0"));
  EXPECT_EQ(Content(directory + "/a.json"), ReportJson(run::FailedRun(), "0.1.0"));
  EXPECT_EQ(Content(directory + "/a.html"), ReportPage(run::FailedRun(), "0.1.0"));
}

TEST_F(WriteReportTest, ReplacesAnOlderOneAndLeavesNothingElse) {
  const std::string path = directory + "/report";
  std::ofstream(path) << "old";
  ASSERT_TRUE(WriteReport(path, run::NeverFormed(), "0.1.0"));
  EXPECT_EQ(Content(path), ReportJson(run::NeverFormed(), "0.1.0"));
  EXPECT_THAT(Files(), testing::ElementsAre("report"));
  struct stat facts {};
  ASSERT_EQ(stat(path.c_str(), &facts), 0);
  const mode_t mask = umask(0);
  umask(mask);
  EXPECT_EQ(facts.st_mode & 0777U, 0666U & ~mask);
}

TEST_F(WriteReportTest, NamesWhatCannotBeWritten) {
  const Error error{Code::kSystem, "cannot write the report /proc/none/x.json: No such file or directory",
                    "choose a run.report in a directory that exists, that you may write and that has space"};
  for (const Status& failed :
       {CheckReportPath("/proc/none/x.json"), WriteReport("/proc/none/x.json", run::FailedRun(), "0.1.0")}) {
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error(), error);
  }
  const Status directory_itself = CheckReportPath(directory);
  ASSERT_FALSE(directory_itself);
  EXPECT_EQ(directory_itself.error().message, "cannot write the report " + directory + ": Is a directory");
}

// The umask belongs to the process: a program that is started meanwhile would have it.
TEST_F(WriteReportTest, LeavesTheUmaskAlone) {
  const mode_t before = umask(077);
  std::atomic<bool> over = false;
  std::atomic<int> wrong = 0;
  std::thread other([&] {
    const std::string path = directory + "/other";
    while (!over) {
      const UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
      struct stat facts {};
      if (fstat(file.get(), &facts) == 0 && (facts.st_mode & 0777) != 0600) ++wrong;
      unlink(path.c_str());
    }
  });
  for (int round = 0; round < 300; ++round) {
    EXPECT_TRUE(WriteReport(directory + "/report", run::NeverFormed(), "0.1.0"));
  }
  over = true;
  other.join();
  umask(before);
  EXPECT_EQ(wrong, 0);
}

TEST_F(WriteReportTest, FollowsAnOwnLink) {
  std::filesystem::create_directory(directory + "/scratch");
  std::filesystem::create_symlink("scratch/report", directory + "/link");
  for (int twice = 0; twice < 2; ++twice) {
    ASSERT_TRUE(CheckReportPath(directory + "/link"));
    ASSERT_TRUE(WriteReport(directory + "/link", run::NeverFormed(), "0.1.0"));
  }
  EXPECT_TRUE(std::filesystem::is_symlink(directory + "/link"));
  EXPECT_EQ(Content(directory + "/scratch/report"), ReportJson(run::NeverFormed(), "0.1.0"));
}

TEST_F(WriteReportTest, WritesToAPipeThatItWasGiven) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const std::string path = "/dev/fd/" + std::to_string(writer.get());
  std::string text;
  std::thread copy([&] {
    char buffer[4096];
    for (ssize_t got = 0; (got = read(reader.get(), buffer, sizeof buffer)) > 0;) {
      text.append(buffer, static_cast<size_t>(got));
    }
  });
  EXPECT_TRUE(CheckReportPath(path));
  const RunRecord large = run::GoodRun(2048, 8, std::chrono::seconds(5));
  EXPECT_TRUE(WriteReport(path, large, "0.1.0"));
  writer.Reset();
  copy.join();
  EXPECT_EQ(text, ReportJson(large, "0.1.0"));
}

TEST_F(WriteReportTest, RefusesAStrangersLink) {
  if (!IsRoot()) GTEST_SKIP() << "needs root";
  const SharedFolder folder;
  folder.Link("report", kStranger, folder / "elsewhere");
  for (const Status& failed :
       {CheckReportPath(folder / "report"), WriteReport(folder / "report", run::FailedRun(), "0.1.0")}) {
    ASSERT_FALSE(failed);
    EXPECT_THAT(failed.error().message,
                testing::EndsWith("the symbolic link \"report\" belongs to user 54322"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "elsewhere"));
}

// Another user who may write the directory finds the process's number in /proc.
TEST_F(WriteReportTest, NeedsNoNameThatAnotherUserCanTake) {
  for (int number = 0; number < 100; ++number)
    std::ofstream(fmt::format("{}/.muster-report-{}-{}", directory, getpid(), number));
  EXPECT_TRUE(WriteReport(directory + "/report", run::FailedRun(), "0.1.0"));
}

TEST_F(WriteReportTest, AFailureLeavesTheOldOne) {
  const std::string path = directory + "/report";
  std::filesystem::create_directory(path);
  ASSERT_FALSE(WriteReport(path, run::FailedRun(), "0.1.0"));
  EXPECT_THAT(Files(), testing::ElementsAre("report"));
}

}  // namespace
}  // namespace muster::report
