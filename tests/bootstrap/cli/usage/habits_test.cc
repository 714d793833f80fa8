#include "bootstrap/cli/usage/habits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "bootstrap/cli/usage/habit_table.h"

namespace muster::cli {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;
using Words = std::vector<std::string>;

// With the options that the table names.
class Command {
 public:
  explicit Command(std::string_view name) {
    own_.command = name;
    own_.takes_value = [name](const std::string& option) -> std::optional<bool> {
      if (option == "--label") return false;
      Words known = {"--endpoint", "--max-restarts", "--log-dir", "--nproc-per-node"};
      if (name == "launch")
        known.insert(known.end(), {"-n", "--ranks", "--nnodes", "--node-rank", "--hosts"});
      return std::ranges::count(known, option) > 0 ? std::optional(true) : std::nullopt;
    };
  }
  Result<Words> operator()(const Words& words) const { return TranslateHabits(own_, words, ""); }

 private:
  OwnOptions own_;
};

const Command& OfRun() {
  static const Command& command = *new Command("run");
  return command;
}
const Command& OfLaunch() {
  static const Command& command = *new Command("launch");
  return command;
}

std::string Replaced(std::string text, char from, char to) {
  std::ranges::replace(text, from, to);
  return text;
}

void CheckRow(const Command& command, const Habit& habit, const Habit::Reading& reading, const Words& given) {
  SCOPED_TRACE(given.front());
  Words words = given;
  words.insert(words.end(), {"--", "prog", given.front()});
  ASSERT_TRUE(MayHaveHabits(words));
  const Result<Words> got = command(words);
  const auto becomes = [&](Words before) {
    ASSERT_TRUE(got) << got.error().message;
    before.insert(before.end(), {"prog", given.front()});
    EXPECT_THAT(*got, ElementsAreArray(before));
  };
  const std::string text(reading.text);
  switch (reading.meaning) {
    case Meaning::kNone:
      break;  // the command's own: below
    case Meaning::kSame:
      becomes(habit.takes_value ? Words{text, "7", "--"} : Words{text, "--"});
      break;
    case Meaning::kHolds:
      becomes({"--"});
      break;
    case Meaning::kAddress:
      becomes({"--endpoint", "7:29500", "--"});
      break;
    case Meaning::kModule:
      becomes({"--", "python3", "-u", "-m"});
      break;
    case Meaning::kPort:
    case Meaning::kInstead:
      ASSERT_FALSE(got);
      EXPECT_EQ(got.error().code, Code::kUsage);
      EXPECT_THAT(got.error().message, HasSubstr("has no option \"--"));
      EXPECT_EQ(std::ranges::count(got.error().message, '\n'), 0);
      EXPECT_EQ(got.error().message.find("{}"), std::string::npos);
  }
}

TEST(Habits, EveryRowWithDashesUnderscoresAndEquals) {
  for (const Habit& habit : Habits()) {
    for (const std::string& name : {std::string(habit.word), Replaced(std::string(habit.word), '-', '_')}) {
      for (const auto* command : {&OfRun(), &OfLaunch()}) {
        const Habit::Reading& reading = command == &OfRun() ? habit.run : habit.launch;
        if (!habit.takes_value) CheckRow(*command, habit, reading, {"--" + name});
        if (habit.takes_value) CheckRow(*command, habit, reading, {"--" + name, "7"});
        if (habit.takes_value) CheckRow(*command, habit, reading, {"--" + name + "=7"});
      }
    }
  }
}

struct Case {
  const Command& command;
  Words given;
  Words becomes;
};

TEST(Habits, ThatMusterHasAreCarriedOut) {
  for (const Case& c : std::vector<Case>{
           {OfLaunch(), {"-np", "4", "prog"}, {"-n", "4", "prog"}},
           {OfLaunch(), {"-n", "4", "prog", "-np", "3"}, {"-n", "4", "prog", "-np", "3"}},
           {OfLaunch(), {"--nproc_per_node=4", "--", "prog"}, {"--nproc-per-node", "4", "--", "prog"}},
           {OfRun(), {"--nproc_per_node", "gpu", "prog"}, {"--nproc-per-node", "gpu", "prog"}},
           {OfLaunch(), {"-hostfile", "hosts", "-n", "2", "p"}, {"--hosts", "hosts", "-n", "2", "p"}},
           {OfLaunch(), {"--standalone", "--nnodes=1", "p"}, {"--nnodes", "1", "p"}},
           {OfLaunch(), {"--nnodes", "2:2", "p"}, {"--nnodes", "2", "p"}},
           {OfLaunch(), {"--node_rank", "1", "p"}, {"--node-rank", "1", "p"}},
           {OfLaunch(),
            {"--master_port", "4711", "--master_addr=alpha", "p"},
            {"--endpoint", "alpha:4711", "p"}},
           {OfLaunch(), {"--rdzv_endpoint", "alpha:1", "p"}, {"--endpoint", "alpha:1", "p"}},
           {OfLaunch(),
            {"-m", "--max_restarts", "3", "pkg.train", "-m", "x"},
            {"--max-restarts", "3", "--", "python3", "-u", "-m", "pkg.train", "-m", "x"}},
           {OfRun(), {"--module", "--", "pkg"}, {"--", "python3", "-u", "-m", "pkg"}},
           {OfLaunch(), {"-N2", "-n4", "p", "-N3"}, {"--nnodes", "2", "-n", "4", "p", "-N3"}},
           {OfLaunch(), {"--label=false", "-n2", "p"}, {"--label=false", "-n", "2", "p"}},
           {OfRun(), {"--label=false", "ls", "-l"}, {"--label=false", "ls", "-l"}},
           {OfRun(), {"-l", "--output-filename", "logs", "p"}, {"--label", "--log-dir", "logs", "p"}},
           {OfRun(), {"--no-python", "-x", "HOME", "./train"}, {"./train"}},
           // The value of an option is none; what is unknown stays for the parser to refuse.
           {OfRun(), {"--log-dir", "-np", "p"}, {"--log-dir", "-np", "p"}},
           {OfRun(), {"--nosuch_thing", "-x", "A", "p"}, {"--nosuch_thing", "p"}},
       }) {
    const Result<Words> got = c.command(c.given);
    ASSERT_TRUE(got) << c.given.front() << ": " << got.error().message;
    EXPECT_THAT(*got, ElementsAreArray(c.becomes)) << c.given.front();
  }
}

TEST(Habits, ThatMusterHasNotNameTheRemedy) {
  struct Refused {
    const Command& command;
    Words given;
    std::string message;
  };
  for (const Refused& c : std::vector<Refused>{
           {OfRun(),
            {"--nnodes", "2", "p"},
            "muster run has no option \"--nnodes\" (let the launcher start one process a node: "
            "srun -N 2 --ntasks-per-node=1 muster run --nproc-per-node N -- CMD; "},
           {OfRun(),
            {"-n", "4", "p"},
            "\"-n\" (let a launcher start the ranks: srun -n 4 muster run -- CMD; on this machine: "
            "muster launch -n 4 -- CMD)"},
           {OfRun(),
            {"--standalone", "p"},
            "\"--standalone\" (write muster launch -n N -- CMD for ranks on this machine)"},
           {OfLaunch(),
            {"--nnodes=1:4", "p"},
            "\"--nnodes\" (write --nnodes 4: the size of a group is fixed)"},
           {OfLaunch(),
            {"-x", "A=1", "p"},
            "\"-x\" (write it in front of muster: env A=1 muster launch ...)"},
           {OfLaunch(), {"--master-port", "1", "p"}, "leave it out: muster chooses a free port"},
           {OfRun(),
            {"--rdzv-id", "1", "--rdzv_conf=a=1", "p"},
            "no id)\nmuster run has no option \"--rdzv_conf\" (write "},
       }) {
    const Result<Words> got = c.command(c.given);
    ASSERT_FALSE(got) << c.given.front();
    EXPECT_THAT(got.error().message, HasSubstr(c.message));
  }
}

TEST(Habits, AreNotLookedForBehindTheProgram) {
  EXPECT_FALSE(MayHaveHabits({"--", "-np", "4"}));
  EXPECT_FALSE(MayHaveHabits({"--label", "true"}));
  EXPECT_FALSE(MayHaveHabits({}));
  // Without "--" they may be the program's; then they are left alone.
  const Words words = {"--label", "prog", "--nnodes", "2", "--some_thing", "-m"};
  EXPECT_TRUE(MayHaveHabits(words));
  EXPECT_EQ(OfRun()(words).value(), words);
}

}  // namespace
}  // namespace muster::cli
