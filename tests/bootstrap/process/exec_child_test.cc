#include "bootstrap/process/exec_child.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::process {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ExecCandidates, TakesAPathAsItStands) {
  EXPECT_THAT(ExecCandidates("/bin/x", {"PATH=/a"}), ElementsAre("/bin/x"));
  EXPECT_THAT(ExecCandidates("./x", {"PATH=/a"}), ElementsAre("./x"));
  EXPECT_THAT(ExecCandidates("d/x", {}), ElementsAre("d/x"));
}

TEST(ExecCandidates, LooksThroughThePathOfTheProgram) {
  EXPECT_THAT(ExecCandidates("x", {"A=b", "PATH=/a:/b/c", "PATH=/later"}), ElementsAre("/a/x", "/b/c/x"));
  EXPECT_THAT(ExecCandidates("x", {"PATH=:/a:"}), ElementsAre("./x", "/a/x", "./x"));
  EXPECT_THAT(ExecCandidates("x", {"PATHS=/a"}), ElementsAre("/usr/local/bin/x", "/bin/x", "/usr/bin/x"));
}

TEST(ExecCandidates, HasNoneForNothing) { EXPECT_THAT(ExecCandidates("", {"PATH=/a"}), IsEmpty()); }

TEST(AbsoluteCandidates, AreOutsideOfTheWorkingDirectory) {
  EXPECT_THAT(AbsoluteCandidates("x", {"PATH=:/a:.:b:/c"}), ElementsAre("/a/x", "/c/x"));
  EXPECT_THAT(AbsoluteCandidates("./x", {"PATH=/a"}), ElementsAre("./x")) << "as the user has written it";
}

}  // namespace
}  // namespace muster::process
