// The `muster` command as its users meet it: exit codes, messages, and what goes to stdout and what to
// stderr.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bootstrap/cli/usage/habit_table.h"
#include "tests/bootstrap/cli/run_muster.h"

namespace muster::cli {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;

TEST(Command, LinksNothingDynamicButLibc) {
  FILE* pipe = popen("LC_ALL=C readelf -d bootstrap/cli/muster", "r");
  ASSERT_NE(pipe, nullptr);
  std::vector<std::string> needed;
  std::array<char, 512> line{};
  while (std::fgets(line.data(), line.size(), pipe) != nullptr) {
    const std::string text = line.data();
    const size_t name = text.find('[');
    if (text.find("(NEEDED)") != std::string::npos)
      needed.push_back(text.substr(name + 1, text.find(']') - name - 1));
  }
  EXPECT_EQ(pclose(pipe), 0);
  // The libraries of a sanitizer do not count.
  const auto is_sanitizer = [](const std::string& name) {
    return name.starts_with("libasan.") || name.starts_with("libtsan.") || name.starts_with("libubsan.");
  };
  if (std::ranges::any_of(needed, is_sanitizer)) return;
  // libc's own loader, where thread-local variables need it.
  std::erase(needed, "ld-linux-x86-64.so.2");
  EXPECT_THAT(needed, testing::ElementsAre("libc.so.6"));
}

TEST(Command, PrintsItsVersionAndWhatItWasBuiltFromAndWith) {
  const Outcome outcome = RunMuster("--version");
  EXPECT_EQ(RunMuster("-V").out, outcome.out);
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out,
              MatchesRegex("muster [0-9]+\\.[0-9]+\\.[0-9]+\n"
                           "commit: (development build|[0-9a-f]+(-dirty)?, [0-9]+-[0-9]+-[0-9]+)\n"
                           "platform: linux (x86_64|aarch64), glibc 2\\.[0-9]+ or later\n"
                           "features: socket( nccl)? munge secret pmix pmi torch-store\n"));
}

// A site's module sets the variable: the rest is examined. A file of the command line is an error of the call.
TEST(Doctor, AnUnusableConfigurationIsAFinding) {
  const Outcome outcome = RunMuster("doctor", "MUSTER_CONFIG=/nonexistent.yaml");
  EXPECT_EQ(outcome.status, 71);
  EXPECT_THAT(outcome.out,
              HasSubstr("  problem  config    cannot read /nonexistent.yaml: No such file or directory\n"
                        "                     cost: every command of muster exits here immediately\n"
                        "                     remedy: give a file that this user can read\n"));
  EXPECT_THAT(outcome.out, HasSubstr("/dev/shm"));
  EXPECT_EQ(RunMuster("doctor -c /nonexistent.yaml").status, 78);
}

// Some print more than the buffer of standard output holds.
const std::vector<std::string>& WordsThatPrint() {
  static const std::vector<std::string>& words =
      *new std::vector<std::string>{"--version",      "-V",
                                    "resolve --json", "config",
                                    "help run",       "journal --help",
                                    "help --json",    "launch -n 400 --dry-run --json -- true"};
  return words;
}

TEST(Command, FailsIfItsOutputIsLost) {
  for (const std::string& words : WordsThatPrint()) {
    const Outcome outcome = RunMuster(words, R"(MUSTER_LOG_TIME=none sh -c 'exec "$@" >/dev/full' sh)");
    EXPECT_EQ(outcome.status, 71) << words;
    EXPECT_EQ(outcome.err, "muster: error: cannot write standard output: No space left on device\n") << words;
  }
}

TEST(Command, FailsNotIfItsOutputHasNoReader) {
  const std::string fifo = testing::TempDir() + "/no_reader";
  for (const std::string& words : WordsThatPrint()) {
    const Outcome outcome = RunMuster(
        words, fmt::format(R"(F={} sh -c 'trap "" PIPE; rm -f $F; mkfifo $F; exec 3<>$F 4>$F 3<&-; )"
                           R"(exec "$@" >&4' sh)",
                           fifo));
    EXPECT_EQ(outcome.status, 0) << words;
    EXPECT_THAT(outcome.err, IsEmpty()) << words;
  }
}

// A parent may leave it so. (dash cannot.)
TEST(Doctor, AnIgnoredSigchldTakesNoStatusOfItsTools) {
  const std::string folder = testing::TempDir() + "/with_version";
  std::filesystem::create_directory(folder);
  std::ofstream(folder + "/srun") << "#!/bin/sh\necho slurm 99.1\n";
  std::filesystem::permissions(folder + "/srun", std::filesystem::perms::owner_all);
  const Outcome outcome =
      RunMuster("doctor", "PATH=" + folder + R"(:"$PATH" bash -c 'trap "" CHLD; exec "$@"' bash)");
  EXPECT_THAT(outcome.out, HasSubstr("slurm 99.1"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("srun was killed"))) << outcome.err;
}

std::vector<std::string> Lines(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Help, TheFirstPageFitsAScreen) {
  const Outcome outcome = RunMuster("--help");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_LE(Lines(outcome.out).size(), 30U);
  for (const std::string& line : Lines(outcome.out)) EXPECT_LE(line.size(), 80U) << line;
  for (const char* other : {"help", "-h", "help --color=auto", "--color never -h"}) {
    EXPECT_EQ(RunMuster(other).out, outcome.out) << other;
  }
}

TEST(Help, EveryCommandOfTheFirstPageHasAPageWithAnExample) {
  int commands = 0;
  for (const std::string& line : Lines(RunMuster("help").out)) {
    if (!line.starts_with("  ") || line.starts_with("   ")) continue;
    const std::string name = line.substr(2, line.find(' ', 2) - 2);
    const Outcome outcome = RunMuster(name + " --help");
    EXPECT_EQ(outcome.status, 0) << name;
    EXPECT_THAT(outcome.out, HasSubstr("\nExamples\n  ")) << name;
    EXPECT_THAT(outcome.out, HasSubstr("muster " + name)) << name;
    EXPECT_THAT(outcome.err, IsEmpty()) << name;
    EXPECT_EQ(RunMuster("help " + name).out, outcome.out) << name;
    ++commands;
  }
  EXPECT_GE(commands, 13);
}

TEST(Help, IsColouredOnlyIfAsked) {
  for (const char* plain : {"run --help", "help run", "help --color auto run"})
    EXPECT_THAT(RunMuster(plain).out, Not(HasSubstr("\x1b"))) << plain;
  for (const char* coloured : {"run --help --color always", "--color=always run --help",
                               "help run --color=always", "--color always --help"})
    EXPECT_THAT(RunMuster(coloured).out, HasSubstr("\x1b[1m")) << coloured;
  EXPECT_THAT(RunMuster("help --color red").err,
              HasSubstr("--color is auto or always or never, not \"red\""));
}

TEST(Help, OfWhatIsNoCommandIsAUsageError) {
  const Outcome outcome = RunMuster("help rnu");
  EXPECT_EQ(outcome.status, 64);
  EXPECT_THAT(outcome.err, HasSubstr("muster help has no topic \"rnu\"; did you mean \"run\"?"));
  EXPECT_EQ(RunMuster("help exit-status").status, 0);
  EXPECT_THAT(
      RunMuster("help liveness.dead_aftr").err,
      HasSubstr("muster help has no topic \"liveness.dead_aftr\"; did you mean \"liveness.dead_after\"?"));
}

TEST(Help, ExplainsKeys) {
  EXPECT_THAT(RunMuster("help timeouts.rendezvous").out,
              HasSubstr("\n  Variable  MUSTER_TIMEOUTS_RENDEZVOUS\n"));
  EXPECT_THAT(RunMuster("help keys").out, HasSubstr("\n  run.grace"));
  EXPECT_THAT(RunMuster("help liveness").out, HasSubstr("\n  liveness.heartbeat"));
  // A command is another one than its section of keys.
  EXPECT_EQ(RunMuster("help run").out, RunMuster("run --help").out);
}

TEST(Command, NamesTheNearestAndTheRemedy) {
  for (const auto& [arguments, message] : std::vector<std::pair<std::string, std::string>>{
           {"", "muster needs a command (muster help lists the commands)"},
           {"rnu", "muster has no command \"rnu\"; did you mean \"run\"? (muster help lists the commands)"},
           {"python x.py",
            "muster has no command \"python\" (muster help lists the commands; a program runs with: muster "
            "run "
            "-- python ...)"},
           {"-n 4 true",
            "muster has no option \"-n\"; the command comes first (muster help lists the commands)"},
           {"run --expext x -- true",
            "muster run has no option \"--expext\"; did you mean \"--expect\"? (muster run --help lists the "
            "options)"},
           {"resolve this",
            "muster resolve has no argument \"this\" (muster resolve --help lists the options)"},
           {"launch 4 true",
            "muster launch needs the number of ranks: -n N (muster launch -n 4 -- true ...)"},
           {"launch 2 -- true",
            "muster launch needs the number of ranks: -n N (muster launch -n 2 -- true ...)"},
           {"launch prog -n 4",
            "muster launch needs the number of ranks: -n N (write -n in front of the program: muster launch "
            "-n "
            "4 -- CMD ARGS...)"},
           {"launch -n 1 --nnodes 2 --node-rank 2 --endpoint a:1 -- true",
            "--node-rank 2 is not below --nnodes 2 (correct it: machines count from 0)"},
           {"launch -n 1 --nnodes 2 --node-rank 1 --endpoint localhost:61000 -- true",
            "the endpoint localhost:61000 is a loopback address: other machines do not reach it (name the "
            "machine with "
            "--node-rank 0, with --hosts the first one, as the others reach it)"},
           {"launch -n 1 --nnodes 2 --node-rank 1 --endpoint 127.0.0.1:61000 -- true",
            "the endpoint 127.0.0.1:61000 is a loopback address: other machines do not reach it (name the "
            "machine with "
            "--node-rank 0, with --hosts the first one, as the others reach it)"},
           {"launch -n 1 --nnodes 2 --node-rank 1 --endpoint [::1]:61000 -- true",
            "the endpoint [::1]:61000 is a loopback address: other machines do not reach it (name the "
            "machine with "
            "--node-rank 0, with --hosts the first one, as the others reach it)"},
           {"launch —hosts=h -- true", "\"—hosts=h\" begins with a dash that is no hyphen (write --hosts=h)"},
           {"check —json", "\"—json\" begins with a dash that is no hyphen (write --json)"},
           {"map -n 4 --items x.txt -- true",
            "muster map has no option \"-n\" (let a launcher start each rank: srun -n 4 muster ...; on this "
            "machine: muster launch -n 4 -- muster ...)"},
           {"launch -n",
            "--ranks needs a value: --ranks N|gpu|cpu|auto (muster launch --help lists the options)"},
           {"launch -n 2 --log-dir -- true",
            "--log-dir needs a value: --log-dir DIR (muster launch --help lists the options)"},
           {"run --nproc_per_node -- true",
            "--nproc-per-node needs a value: --nproc-per-node N|gpu|cpu|auto (muster run --help lists the "
            "options)"},
           {"launch -n 1 --nnodes x -- true",
            "--nnodes: \"x\" is not a number from 1 to 1000000 (muster launch --help lists the options)"},
           {"launch -n 1 -n 2 -- true",
            "--ranks is given more than once (muster launch --help lists the options)"},
           {"journal d mrge",
            "ACTION is verify or merge, not \"mrge\" (muster journal --help lists the options)"},
           {"run --stdin foo -- true",
            "--stdin is rank0 or all or none or auto, not \"foo\" (muster run --help lists the options)"},
           {"run --color",
            "--color needs a value: --color auto|always|never (muster run --help lists the options)"},
           {"run --color=blue -- true",
            "--color is auto or always or never, not \"blue\" (muster run --help lists the options)"},
           {"journal", "muster journal needs DIRECTORY (muster journal --help lists the options)"},
           {"status --ranks 4", "--ranks needs --stacks (muster status --help lists the options)"},
           {"run --nnodes 2 train.py",
            "muster run has no option \"--nnodes\" (let the launcher start one process a node: "
            "srun -N 2 --ntasks-per-node=1 muster run --nproc-per-node N -- CMD; without a "
            "scheduler: muster launch --nnodes 2 --node-rank R --endpoint HOST:PORT -n N -- CMD)"},
       }) {
    const Outcome outcome = RunMuster(arguments);
    EXPECT_EQ(outcome.status, 64) << arguments;
    EXPECT_THAT(outcome.out, IsEmpty()) << arguments;
    EXPECT_EQ(outcome.err, "muster: error: " + message + "\n");
  }
}

TEST(Habits, AreOptionsOfTheCommand) {
  for (const Habit& habit : Habits()) {
    for (const auto& [command, reading] : {std::pair("run", habit.run), {"launch", habit.launch}}) {
      if (reading.meaning != Meaning::kSame) continue;
      EXPECT_THAT(RunMuster(std::string(command) + " --help").out, HasSubstr(std::string(reading.text)))
          << habit.word;
    }
  }
}

TEST(Habits, StartTheRanks) {
  const Outcome outcome =
      RunMuster("launch --nproc_per_node=2 --standalone --no-python sh -c 'echo $# $WORLD_SIZE' -m -np");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "1 2\n1 2\n");
}

TEST(Command, TheProgramsOwnOptionsAreLeftAlone) {
  EXPECT_EQ(RunMuster("launch -n 1 echo --nnodes 3 -np 4 --help").out, "--nnodes 3 -np 4 --help\n");
  EXPECT_EQ(RunMuster("launch -n 1 -- echo --nproc_per_node 2 -- -m").out, "--nproc_per_node 2 -- -m\n");
}

TEST(Command, TheProgramsWordsAreNotChanged) {
  const std::string words =
      R"('[0.9,0.95]' '[]' '[ 1 = 1 ]' '["x"]' '[[a]]' '' '{}' '%%' '=' ' a,b ' -- '[-1]')";
  const std::string given = "<[0.9,0.95]><[]><[ 1 = 1 ]><[\"x\"]><[[a]]><><{}><%%><=>< a,b ><--><[-1]>";
  for (const char* command : {"run", "launch -n 1", "launch -n 1 --", "once --", "run --label=false"}) {
    EXPECT_EQ(RunMuster(std::string(command) + " printf '<%s>' " + words).out, given) << command;
  }
}

TEST(Command, RepeatedOptionsAreNotDivided) {
  EXPECT_THAT(RunMuster("run --set '[a,b]' --set c -- true").err, HasSubstr("\"[a,b]\""));
  EXPECT_THAT(RunMuster("launch -n 1 --expect x --expect '[a,b]' -- true").err,
              HasSubstr("no file matches [a,b] "));
}

TEST(Command, AnOptionWithAnEmptyValueTakesNoOtherWord) {
  EXPECT_EQ(RunMuster("run --launcher none --report= sh -c 'exit 3'").status, 3);
  EXPECT_THAT(RunMuster("run --launcher none --set= -- true").err,
              HasSubstr("--set \"\": the value is missing"));
  EXPECT_THAT(RunMuster("store --listen= --json").out, HasSubstr(" is no address"));
  for (const char* words : {"run --rank 0 --world-size 1 --endpoint= true", "launch -n 1 --endpoint= true"}) {
    const Outcome outcome = RunMuster(words);
    EXPECT_EQ(outcome.status, 78) << words;
    EXPECT_THAT(outcome.err,
                HasSubstr("--endpoint: \"\" is not an endpoint: the port is missing (write host:port"))
        << words;
  }
  EXPECT_EQ(RunMuster("run --nproc-per-node= --launcher none -- true").status, 64);
}

TEST(Command, UnknownFlagsAndCommandsAreUsageErrors) {
  for (const char* arguments :
       {"", "runn", "run --colour -- true", "launch -- true", "launch -n 0 -- true", "launch -n x -- true"}) {
    const Outcome outcome = RunMuster(arguments);
    EXPECT_EQ(outcome.status, 64) << arguments;
    EXPECT_THAT(outcome.out, IsEmpty()) << arguments;
    EXPECT_THAT(outcome.err, HasSubstr("muster: error: ")) << arguments;
  }
}

TEST(Command, WithJsonAFailureIsOneObjectOnStdout) {
  const Outcome outcome = RunMuster("resolve --json --colour");
  EXPECT_EQ(outcome.status, 64);
  EXPECT_THAT(outcome.out, HasSubstr(R"({"error":{"code":"usage","message":)"));
  EXPECT_THAT(outcome.out, HasSubstr(R"("allocation":null})"));
}

TEST(Run, NothingToRunIsAUsageError) {
  const Outcome outcome = RunMuster("run");
  EXPECT_EQ(outcome.status, 64);
  EXPECT_EQ(
      outcome.err,
      "muster: error: nothing to run: no CMD, and the configuration has no run.command (muster run -- CMD "
      "ARGS...)\n");
}

TEST(Run, AWorldOfOneGetsItsEnvironmentAndExitStatus) {
  const Outcome outcome =
      RunMuster("run -- sh -c 'echo $RANK $WORLD_SIZE $LOCAL_RANK $MASTER_ADDR $MASTER_PORT; exit 3'");
  EXPECT_EQ(outcome.status, 3);
  EXPECT_EQ(outcome.out, "0 1 0 127.0.0.1 0\n");
  EXPECT_THAT(outcome.err, HasSubstr("failed: exit 3\n"));
}

// The supervisor waits a moment for a signal of its own (supervisor.h); there is no other process to wait
// for.
TEST(Run, InAWorldOfOneAProgramThatIsKilledIs128AndTheSignal) {
  for (const auto& [name, number] :
       {std::pair("TERM", 15), {"INT", 2}, {"HUP", 1}, {"QUIT", 3}, {"KILL", 9}}) {
    for (const std::string how : {"run", "launch -n 1"}) {
      const Outcome outcome = RunMuster(how + " -- sh -c 'kill -" + name + " $$'");
      EXPECT_EQ(outcome.status, 128 + number) << how << " " << name;
      EXPECT_THAT(outcome.err, HasSubstr("failed: signal " + std::to_string(number) + " (")) << how;
    }
  }
}

// ThreadSanitizer makes vfork a fork: an error stays in the child.
#if !defined(__SANITIZE_THREAD__)
TEST(Run, AMissingProgramIsNamed) {
  const Outcome outcome = RunMuster("run -- no-such-program");
  EXPECT_EQ(outcome.status, 127);
  EXPECT_THAT(outcome.err, HasSubstr("cannot start \"no-such-program\": No such file or directory"));
}
#endif

#if !defined(__SANITIZE_THREAD__)
TEST(Launch, AMissingProgramNeverStartedOnAnyRank) {
  const Outcome outcome = RunMuster("launch -n 3 -- no-such-program");
  EXPECT_EQ(outcome.status, 127);
  EXPECT_THAT(outcome.err, HasSubstr("cannot start \"no-such-program\": No such file or directory"));
  EXPECT_THAT(outcome.err, HasSubstr("never started: ranks 1,2\n"));
  EXPECT_THAT(outcome.err, Not(HasSubstr("nothing is known")));
}
#endif

// Supervisors have nothing to do with GPUs: the choice is the program's.
TEST(Run, TakesNoInterestInTheBackend) {
  const Outcome outcome = RunMuster("run --set backend=nccl -- true");
  EXPECT_EQ(outcome.status, 0);
}

TEST(Run, AContradictoryEnvironmentIsRefused) {
  const Outcome outcome = RunMuster("run --rank 5 --world-size 4 -- true");
  EXPECT_THAT(outcome.status, testing::AnyOf(64, 65));
  EXPECT_THAT(outcome.err, HasSubstr("rank"));
}

TEST(Launch, RunsTheRanksAndReportsTheFirstFailure) {
  const Outcome outcome =
      RunMuster("launch -n 3 -- sh -c 'if [ $RANK = 1 ]; then echo broken >&2; exit 9; else cat; fi'");
  EXPECT_EQ(outcome.status, 9);
  EXPECT_THAT(outcome.err, HasSubstr("rank 1 on "));
  EXPECT_THAT(outcome.err, HasSubstr(" failed: exit 9\n"));
  EXPECT_THAT(outcome.err, HasSubstr("broken\n"));
}

TEST(Launch, AFileAsStandardInputNeverCloses) {
  const Outcome outcome = RunMuster("launch --until-stdin-closes -n 2 -- true");
  EXPECT_EQ(outcome.status, 64);
  EXPECT_THAT(outcome.err, HasSubstr("(start muster launch with a pipe as its standard input"));
}

TEST(Launch, AProgramKilledByASignalIs128AndTheSignal) {
  const Outcome outcome = RunMuster("launch -n 2 -- sh -c '[ $RANK = 0 ] || kill -9 $$'");
  EXPECT_EQ(outcome.status, 137);
  EXPECT_THAT(outcome.err, HasSubstr("failed: signal 9 (Killed)\n"));
}

TEST(Config, ABadFileIsPointedAt) {
  const std::string path = testing::TempDir() + "/bad.yaml";
  std::ofstream(path) << "timeouts:\n  colective: 1h\n";
  const Outcome outcome = RunMuster("config -c " + path);
  EXPECT_EQ(outcome.status, 78);
  EXPECT_THAT(
      outcome.err,
      HasSubstr(path + ":2:3: unknown key \"timeouts.colective\"; did you mean \"timeouts.collective\"?"));
}

TEST(Config, SaysWhereAValueCameFrom) {
  const Outcome outcome = RunMuster("config --explain --set timeouts.collective=1h");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, HasSubstr("collective: 1h"));
  EXPECT_THAT(outcome.out, HasSubstr("--set"));
}

TEST(Config, NamesAVariableThatResemblesASetting) {
  const Outcome outcome = RunMuster("config --explain", "MUSTER_RUN_LABL=1");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.err,
              HasSubstr("MUSTER_RUN_LABL is not a setting of muster; did you mean MUSTER_RUN_LABEL?"));
}

TEST(Secret, IsFreshAndSixtyFourDigits) {
  const Outcome first = RunMuster("secret");
  const Outcome second = RunMuster("secret");
  EXPECT_EQ(first.status, 0);
  EXPECT_THAT(first.out, MatchesRegex("[0-9a-f]+\n"));
  EXPECT_EQ(first.out.size(), 65U);
  EXPECT_NE(first.out, second.out);
}

TEST(Resolve, ReadsACapturedEnvironment) {
  const Outcome outcome = RunMuster("resolve --json --env-file tests/testdata/env/srun-block/5.env");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(
      outcome.out,
      HasSubstr(
          R"({"launcher":"slurm","rank":5,"world_size":8,"local_rank":1,"local_world_size":2,"node_rank":2,"num_nodes":4,"node":"gpu03")"));
}

// On a node where users start ranks with srun.
TEST(WithoutALauncher, TheOneRankIsAWarning) {
  const std::string folder = testing::TempDir() + "/with_srun";
  std::filesystem::create_directory(folder);
  std::filesystem::create_symlink("/bin/true", folder + "/srun");
  std::ofstream(folder + "/items.txt") << "a\n";
  const std::string items = " --items " + folder + "/items.txt --output " + folder + "/out -- true";
  for (const auto& [words, in_job, launched] : {std::tuple("run -- true", "run ...", "..."),
                                                {"check --quick", "check", "-- muster check"},
                                                {"map", "map ...", "-- muster map ..."}}) {
    const Outcome outcome =
        RunMuster(words + (words == std::string("map") ? items : ""), "PATH=" + folder + ":\"$PATH\"");
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_THAT(
        outcome.err,
        HasSubstr(fmt::format("warning: no launcher started this process: it is a world of one (ranks of a "
                              "job: srun muster {}; ranks on this machine: muster launch -n N {}; to silence "
                              "this warning: --launcher none)\n",
                              in_job, launched)));
  }
}

TEST(Resolve, ABatchScriptIsRefusedWithAdvice) {
  const Outcome outcome = RunMuster("resolve --json --env-file tests/testdata/env/sbatch-script/0.env");
  EXPECT_EQ(outcome.status, 64);
  EXPECT_THAT(outcome.out, HasSubstr(R"({"error":{"code":"not_launched")"));
  EXPECT_THAT(outcome.out, HasSubstr("srun"));
}

TEST(Resolve, ARefusalThatCannotBeWrittenKeepsItsExitStatus) {
  EXPECT_EQ(RunMuster("resolve --env-file tests/testdata/env/sbatch-script/0.env",
                      R"(sh -c 'exec "$@" 2>/dev/full' sh)")
                .status,
            64);
}

}  // namespace
}  // namespace muster::cli
