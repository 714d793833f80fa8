// The output of programs at the edges: full disks, readers that stop or go, processes that stay behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/comm/base/folder.h"

namespace muster::cli {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

class Output : public testing::Test {
 protected:
  // `script` of bash, with $D, the directory of files, and `muster`, which ends with 124 if it hangs.
  int Run(const std::string& script) const {
    const std::string file =
        folder.Write("script", "export MUSTER_LOG_TIME=none D=" + folder.path() + "\n" +
                                   "muster() { timeout 60 bootstrap/cli/muster \"$@\"; }\n" + script + "\n");
    const int status = std::system(("bash " + file).c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  std::string Text(const std::string& name) const { return folder.Read(name); }
  static std::ptrdiff_t Lines(const std::string& text) { return std::ranges::count(text, '\n'); }

  Folder folder;
};

// The last write that fits is a short one. The program must not stop in its next 64 KiB.
TEST_F(Output, AFullFileBehindStandardErrorStopsNoProgram) {
  EXPECT_EQ(Run(R"(ulimit -f 5
    muster launch -n 1 -- bash -c 'seq 1 60000 >&2; : >$D/done' 2>$D/err)"),
            0);
  EXPECT_TRUE(folder.Has("done"));
  EXPECT_EQ(Text("err").size(), 5 * 1024u);
}

TEST_F(Output, AFullDiskBehindLabelledOutputIsAnError) {
  EXPECT_EQ(Run("muster launch -n 2 --label -- echo hi >/dev/full 2>$D/err"), 71);
  EXPECT_EQ(
      Text("err"),
      "muster: error: cannot write standard output (/dev/full): No space left on device; output is lost "
      "until it can be written\n"
      "muster: error: 12 bytes of standard output (/dev/full) were lost: No space left on device\n");
}

TEST_F(Output, TheReportHasALossOfOutputAsItsFailure) {
  EXPECT_EQ(Run("muster launch -n 2 --label --report $D/report -- echo hi >/dev/full 2>/dev/null"), 71);
  const auto report = nlohmann::json::parse(Text("report"));
  EXPECT_EQ(report["exit_status"], 71);
  EXPECT_EQ(report["outcomes"], nlohmann::json({{"ok", "0,1"}}));
  const auto& failure = report["failure"];
  ASSERT_TRUE(failure.is_object());
  EXPECT_EQ(failure["code"], "system");
  EXPECT_EQ(failure["message"], "cannot write standard output (/dev/full): No space left on device");
  EXPECT_EQ(failure["rank"], nullptr);
}

TEST_F(Output, AFullDiskBehindLogFilesIsAnErrorThatNamesThem) {
  EXPECT_EQ(Run(R"(ulimit -f 5
    muster launch -n 2 --log-dir $D/logs -- seq 1 10000 2>&1 >/dev/null | cat >$D/err; exit ${PIPESTATUS[0]})"),
            71);
  EXPECT_THAT(Text("err"),
              MatchesRegex("muster: error: cannot write [^ ]*/logs/rank[01].0.[^ ]*.out: File too large; "
                           "output is lost until it can be written\nmuster: error: 87548 bytes of 2 log "
                           "files \\(the first: [^ ]*/logs/rank[01].0.[^ ]*.out\\) were lost: File too "
                           "large\n"));
}

// As without --label.
TEST_F(Output, WithoutAReaderLabelledProgramsReceiveSigpipe) {
  EXPECT_EQ(Run("muster launch -n 2 --label -- yes 2>$D/err | head -1 >$D/out; exit ${PIPESTATUS[0]}"), 141);
  EXPECT_THAT(Text("out"), MatchesRegex("[01]: y\n"));
  EXPECT_THAT(Text("err"), HasSubstr("warning: standard output has no reader: the rest is dropped\n"));
  EXPECT_THAT(Text("err"), HasSubstr(" failed: "));
}

// Their log files still need them.
TEST_F(Output, WithoutAReaderProgramsWithLogFilesGoOn) {
  EXPECT_EQ(Run("muster launch -n 2 --label --log-dir $D/logs -- seq 1 100000 2>$D/err | head -1 >$D/out\n"
                "exit ${PIPESTATUS[0]}"),
            0);
  EXPECT_EQ(Run("cat $D/logs/*.out | wc -l >$D/lines"), 0);
  EXPECT_EQ(Text("lines"), "200000\n");
}

TEST_F(Output, AReaderThatPausesAtTheEndGetsAllOfAGoodRun) {
  EXPECT_EQ(Run("muster launch -n 1 -- sh -c 'seq 1 20000 >&2' 2>&1 | (sleep 2; cat) >$D/out; exit "
                "${PIPESTATUS[0]}"),
            0);
  EXPECT_EQ(Lines(Text("out")), 20000);
  EXPECT_THAT(Text("out"), EndsWith("\n20000\n"));
}

TEST_F(Output, AReaderThatPausesAtTheEndGetsAllOfAFailedRun) {
  for (const std::string label : {"", "--label"}) {
    EXPECT_EQ(Run("muster launch -n 2 " + label +
                  " -- sh -c '[ $RANK = 1 ] || exec sleep 300; seq 1 20000 >&2; exit 3' 2>&1 | (sleep 2; "
                  "cat) >$D/out\n"
                  "exit ${PIPESTATUS[0]}"),
              3);
    const std::string out = Text("out");
    EXPECT_THAT(out, HasSubstr("\n" + std::string(label.empty() ? "" : "1: ") + "20000\n"));
    EXPECT_THAT(out, HasSubstr("muster: error: rank 1 on "));
    EXPECT_THAT(out, HasSubstr("muster: error: the run failed after "));
    EXPECT_THAT(out, Not(HasSubstr(" were lost")));
  }
}

// The reader lives and never reads. The failure is in the log immediately.
TEST_F(Output, AReaderThatNeverReadsIsGivenUpAfterAFailure) {
  EXPECT_EQ(
      Run("muster launch -n 1 --set run.grace=1s --set log.file=$D/log -- sh -c 'seq 1 20000 >&2; exit 3' "
          "2> >(exec sleep 50 >/dev/null 2>&1)\nstatus=$?; kill $!; exit $status"),
      3);
  EXPECT_THAT(Text("log"), HasSubstr("failed: exit 3\n"));
  EXPECT_THAT(Text("log"),
              MatchesRegex("[^\n]*failed: exit 3\nmuster: warning: [0-9]* bytes of standard error were "
                           "lost: its reader did not take them within 5s\n"));
}

// The last lines of the log wait for a reader of the full pipe.
TEST_F(Output, ASignalEndsTheWaitForAReaderOfTheLastLines) {
  EXPECT_EQ(Run(R"(mkfifo $D/err $D/report && exec 8<>$D/report 9<>$D/err && head -c 65536 /dev/zero >&9
    timeout 30 bootstrap/cli/muster launch -n 1 --set run.grace=50s --report $D/report -- sh -c 'exit 3' 2>&9 &
    read -r -t 60 -n 1 _ <&8
    kill -TERM $!; wait $!)"),
            3);
}

// The long command makes the report longer than the pipe: when the signal comes, its first byte has been written, and its
// last one cannot be.
TEST_F(Output, ASignalWhileTheReportIsWrittenEndsTheWaitForAReaderOfTheLastLines) {
  EXPECT_EQ(Run(R"(mkfifo $D/err $D/report && exec 8<>$D/report 9<>$D/err && head -c 65536 /dev/zero >&9
    timeout 30 bootstrap/cli/muster launch -n 1 --set run.grace=50s --report $D/report -- sh -c 'exit 3' \
      $(head -c 100000 /dev/zero | tr '\0' x) 2>&9 &
    read -r -t 60 -n 1 _ <&8
    kill -TERM $!; wait $!)"),
            3);
}

// 64: no supervisor has run. 69: ssh has not reached the machine. The reader is later than a line of the log waits.
TEST_F(Output, AReaderThatPausesGetsTheErrorOfACommandThatEnds) {
  const std::string into_full_pipe = R"(mkfifo $D/err && exec 9<>$D/err && head -c 65536 /dev/zero >&9
    echo alpha >$D/hosts; printf '#!/bin/sh\nexit 255\n' >$D/ssh; chmod +x $D/ssh
    COMMAND 2>&9 9>&- & sleep 0.5; exec 8<$D/err 9>&-; tr -d '\0' <&8 >$D/text; rm $D/err; wait $!)";
  const auto run = [&](const std::string& command) {
    std::string script = into_full_pipe;
    return Run(script.replace(script.find("COMMAND"), 7, command));
  };
  EXPECT_EQ(run("muster launch -- true"), 64);
  EXPECT_THAT(Text("text"), HasSubstr("muster: error: muster launch needs the number of ranks: -n N"));
  EXPECT_EQ(run("muster launch --hosts $D/hosts --ssh $D/ssh -n 1 -- true"), 69);
  EXPECT_THAT(Text("text"), HasSubstr("muster: error: alpha has no ranks of this group: "));
}

// A server or a copy in the background of a rank.
TEST_F(Output, AProcessThatIsLeftBehindWritesOnWhileTheRunGoesOn) {
  EXPECT_EQ(Run(R"(mkfifo $D/done
    muster launch -n 2 -- bash -c '
    if [ $RANK = 1 ]; then read -r _ <$D/done; exit 0; fi
    { seq 1 30000 >&2; echo >$D/done; } & exit 0' 2>$D/err)"),
            0);
  EXPECT_EQ(Lines(Text("err")), 30000);
}

// As `exec > >(tee log)` does: the shell that is left behind ends after its program.
TEST_F(Output, OfAProcessThatEndsRightAfterItsProgramIsComplete) {
  EXPECT_EQ(Run("muster launch -n 2 -- bash -c 'exec > >(cat; echo end); seq 20000' >$D/out"), 0);
  EXPECT_EQ(Lines(Text("out")), 2 * 20001);
}

// Its output is no reason to go on.
TEST_F(Output, AProcessThatIsLeftBehindDoesNotDelayTheEnd) {
  EXPECT_EQ(
      Run("muster launch -n 1 -- bash -c 'yes >&2 & exit 0' 2>&1 | cat >/dev/null; exit ${PIPESTATUS[0]}"),
      0);
}

}  // namespace
}  // namespace muster::cli
