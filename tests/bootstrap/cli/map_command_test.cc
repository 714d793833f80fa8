// muster map, in a world of one: the whole command, with its journal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/bootstrap/cli/launched.h"

namespace muster::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class MapCommand : public testing::Test {
 protected:
  // `muster map WORDS...` with "@" for a directory that stays.
  Launched& Start(std::vector<std::string> words) {
    for (std::string& word : words) Place(word, folder_.path());
    words.insert(words.begin(), "map");
    muster_ = std::make_unique<Launched>(words);
    return *muster_;
  }
  int Run(std::vector<std::string> words) { return Start(std::move(words)).Wait(); }

  MapCommand() { folder_.Write("items.txt", "a\nb\nc d\n"); }
  std::string File(const std::string& name) const { return folder_.File(name); }

  Folder folder_;
  std::unique_ptr<Launched> muster_;
};

TEST_F(MapCommand, RunsItsCommandForEachItem) {
  EXPECT_EQ(Run({"--items", "@/items.txt", "--output", "@/out", "--", "sh", "-c",
                 "echo \"{item}\" $RANK/$WORLD_SIZE"}),
            0)
      << muster_->Err();
  EXPECT_EQ(ContentOf(File("out/c%20d/stdout")), "c d 0/1\n");
  EXPECT_EQ(ContentOf(File("out/a/stdout")), "a 0/1\n");
  EXPECT_EQ(muster_->Out(), "");
  EXPECT_THAT(muster_->Err(), HasSubstr("3 of 3 items are done"));
  EXPECT_FALSE(std::filesystem::exists(File("out/.attempts")));
}

// A terminal would obey them, and a line of the log would not be one.
TEST_F(MapCommand, ControlCharactersOfAKeyAreWrittenAsNumbers) {
  folder_.Write("items.jsonl", R"({"key": "a\nb\u001b[31m"})"
                               "\n");
  EXPECT_EQ(Run({"--items", "@/items.jsonl", "--output", "@/out", "--retries", "0", "--", "false"}), 79);
  EXPECT_THAT(muster_->Err(), HasSubstr("item 0 (a%0Ab%1B[31m) failed on "));
  EXPECT_THAT(muster_->Err(), HasSubstr("item a%0Ab%1B[31m failed (1 attempts; "));
  EXPECT_EQ(muster_->Err().find('\x1b'), std::string::npos);
}

TEST_F(MapCommand, GoesOnWithWhatIsLeft) {
  const std::vector<std::string> words = {"--items",
                                          "@/items.txt",
                                          "--output",
                                          "@/out",
                                          "--retries",
                                          "0",
                                          "--json",
                                          "--",
                                          "sh",
                                          "-c",
                                          "echo {index} >>@/ran; test {index} != 1"};
  EXPECT_EQ(Run(words), 79);
  EXPECT_THAT(muster_->Out(), HasSubstr(R"("items":3,"committed":2,"resumed":0,"failed":1,"left":0)"));
  EXPECT_THAT(muster_->Err(), HasSubstr("item b failed (1 attempts; rank 0 on "));
  EXPECT_EQ(Run(words), 79);
  EXPECT_THAT(muster_->Out(), HasSubstr(R"("committed":2,"resumed":3,"failed":1)"));
  EXPECT_EQ(ContentOf(File("ran")).size(), 6u) << "the items that had ended were run again";
}

TEST_F(MapCommand, AttemptsFailedItemsAgainIfAsked) {
  const std::vector<std::string> command = {"--", "sh", "-c",
                                            "echo {index} >>@/ran; test {index} != 1 -o -e @/mended"};
  const auto run = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--items", "@/items.txt", "--output", "@/out", "--retries", "0"});
    words.insert(words.end(), command.begin(), command.end());
    return Run(words);
  };
  EXPECT_EQ(run({}), 79);
  EXPECT_THAT(muster_->Err(),
              HasSubstr("2 of 3 items are done, 1 failed; --retry-failed attempts them again"));
  std::ofstream(File("mended")) << "";
  EXPECT_EQ(run({}), 79);
  EXPECT_THAT(muster_->Err(), HasSubstr("map: 2 of 3 items were done by earlier runs, 1 failed"));
  EXPECT_EQ(run({"--retry-failed"}), 0) << muster_->Err();
  EXPECT_EQ(ContentOf(File("ran")), "0\n1\n2\n1\n");
}

TEST_F(MapCommand, RefusesAnotherMapsJournal) {
  ASSERT_EQ(Run({"--items", "@/items.txt", "--output", "@/out", "--", "true"}), 0) << muster_->Err();
  EXPECT_EQ(Run({"--items", "@/items.txt", "--output", "@/out", "--", "true", "{item}"}), 76)
      << muster_->Err();
}

TEST_F(MapCommand, GivesBackItsItemsWhenItIsTerminated) {
  Launched& muster = Start({"--items", "@/items.txt", "--output", "@/out", "--slots", "2", "--", "sh", "-c",
                            "touch @/up{slot}; sleep 1000"});
  while (!std::filesystem::exists(File("up0")) || !std::filesystem::exists(File("up1")))
    std::this_thread::yield();
  muster.Send(SIGTERM);
  EXPECT_EQ(muster.Wait(), 80);
  EXPECT_THAT(muster.Err(),
              HasSubstr("0 of 3 items are done, 3 are left: the same command continues with them"));
  EXPECT_EQ(Run({"--items", "@/items.txt", "--output", "@/out", "--slots", "2", "--", "sh", "-c",
                 "touch @/up{slot}; sleep 1000", "never"}),
            76);
}

// A request for a checkpoint, or for a thread dump.
TEST_F(MapCommand, PassesSignalsForProgramsOnToAllSlots) {
  for (const int number : {SIGUSR1, SIGUSR2, SIGQUIT}) {
    const std::string up = File("up" + std::to_string(number) + ".");
    Launched& muster = Start({"--items", "@/items.txt", "--output", "@/out" + std::to_string(number),
                              "--slots", "3", "--", "sh", "-c",
                              "trap 'echo received; exit 0' USR1 USR2 QUIT; touch " + up +
                                  "{slot}; while kill -0 $PPID; do sleep 0.01; done"});
    for (const char* slot : {"0", "1", "2"}) {
      while (!std::filesystem::exists(up + slot)) std::this_thread::yield();
    }
    muster.Send(number);
    EXPECT_EQ(muster.Wait(), 0) << muster.Err();
    EXPECT_EQ(ContentOf(File("out" + std::to_string(number) + "/a/stdout")), "received\n");
  }
}

// The supervisor ends rank 0 when another rank has exited with 79.
TEST_F(MapCommand, ReportsTheFailedItemsUnderASupervisorWhoeverExitsFirst) {
  for (int run = 0; run < 8; ++run) {
    Launched muster({"launch", "-n", "2", "--", "bootstrap/cli/muster", "map", "--json", "--items",
                     File("items.txt"), "--output", File("out" + std::to_string(run)), "--retries", "0", "--",
                     "false"});
    EXPECT_EQ(muster.Wait(), 79);
    EXPECT_THAT(muster.Err(), HasSubstr("0 of 3 items are done, 3 failed")) << run;
    EXPECT_THAT(muster.Out(), HasSubstr(R"("committed":0,"resumed":0,"failed":3,"left":0)")) << run;
  }
}

// The group fails before its ranks have left it.
TEST_F(MapCommand, SaysWhatIsDoneIfItsGroupIsInterrupted) {
  Launched muster({"launch", "-n", "2", "--", "bootstrap/cli/muster", "map", "--items", File("items.txt"),
                   "--output", File("out"), "--", "sh", "-c", "touch " + File("up{rank}") + "; sleep 1000"});
  while (!std::filesystem::exists(File("up0")) || !std::filesystem::exists(File("up1")))
    std::this_thread::yield();
  muster.Send(SIGINT);
  EXPECT_EQ(muster.Wait(), 130);
  EXPECT_THAT(muster.Err(),
              HasSubstr("0 of 3 items are done, 3 are left: the same command continues with them"));
}

// Its process may have the root of the group, and its supervisor ends the other ranks when it exits.
TEST_F(MapCommand, GoesOnWithoutARankThatCanAttemptNothing) {
  const std::string failed = File("failed");
  Launched muster({"launch", "-n", "2", "--", "bootstrap/cli/muster", "map", "--items", File("items.txt"),
                   "--output", File("out"), "--", "sh", "-c",
                   "if test {rank} = 0; then rm -r \"$MUSTER_ITEM_DIR\"; touch " + failed +
                       "; else until test -e " + failed + "; do sleep 0.01; done; fi"});
  EXPECT_EQ(muster.Wait(), 71);
  EXPECT_THAT(muster.Err(), HasSubstr("was removed while its program ran"));
  EXPECT_THAT(muster.Err(), HasSubstr("; this rank takes no further items"));
  for (const char* item : {"a", "b", "c%20d"})
    EXPECT_TRUE(std::filesystem::exists(File("out/" + std::string(item) + "/stdout"))) << item;
}

TEST_F(MapCommand, PrintsItsPlan) {
  std::ofstream(File("sweep.yaml"))
      << "map:\n  items: {model: [a, b], task: [x]}\n  command: [eval, '{model}']\n";
  EXPECT_EQ(Run({"-c", "@/sweep.yaml", "--dry-run"}), 0) << muster_->Err();
  EXPECT_THAT(muster_->Out(), StartsWith("2 items; results in "));
  EXPECT_THAT(muster_->Out(), HasSubstr("model=a,task=x: eval a\nmodel=b,task=x: eval b\n"));
  EXPECT_EQ(Run({"-c", "@/sweep.yaml", "--dry-run", "--json"}), 0);
  EXPECT_THAT(muster_->Out(), HasSubstr(R"("key":"model=b,task=x","command":["eval","b"])"));
}

TEST_F(MapCommand, LeavesTheWordsOfItsCommandAsTheyAre) {
  EXPECT_EQ(Run({"--dry-run", "--json", "--items", "@/items.txt", "--", "eval", "[x, y]", "[]", "{item}"}),
            0);
  EXPECT_THAT(muster_->Out(), HasSubstr(R"("command":["eval","[x, y]","[]",)"));
}

TEST_F(MapCommand, PrintsThePlansOfTheShippedSweeps) {
  EXPECT_EQ(Run({"-c", "configs/map-sweep.yaml", "--dry-run"}), 0) << muster_->Err();
  EXPECT_EQ(Run({"-c", "configs/map-lm-eval.yaml", "--dry-run"}), 0) << muster_->Err();
  EXPECT_THAT(muster_->Out(), HasSubstr(",task=piqa: python -m lm_eval --model hf --model_args "
                                        "pretrained=EleutherAI/pythia-1.4b --tasks piqa "));
}

TEST_F(MapCommand, RefusesWhatCannotBe) {
  EXPECT_EQ(Run({"--items", "@/items.txt"}), 64);
  EXPECT_EQ(Run({"--", "true"}), 64);
  EXPECT_EQ(Run({"--items", "-", "--", "true"}), 78);
  EXPECT_EQ(Run({"--items", "@/items.txt", "--", "true", "{modle}"}), 78);
  EXPECT_EQ(Run({"--items", "@/items.txt", "--output", "@/out", "--", "no-such-program-here"}), 64);
  EXPECT_THAT(muster_->Err(), HasSubstr("\"no-such-program-here\", cannot be found"));
  EXPECT_EQ(Run({"--items", "@/items.txt", "--output", "@/items.txt/x", "--", "true"}), 71);
}

}  // namespace
}  // namespace muster::cli
