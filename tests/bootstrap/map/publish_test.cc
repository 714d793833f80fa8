// Results whose name in OUTPUT cannot be had, and an OUTPUT that takes none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include <climits>
#include <filesystem>
#include <string>

#include "bootstrap/map/worker.h"
#include "bootstrap/process/descendants.h"
#include "tests/bootstrap/map/commands.h"
#include "tests/bootstrap/map/fake_member.h"
#include "tests/comm/base/another_user.h"

namespace muster::map {
namespace {

namespace fs = std::filesystem;

// The end of an attempt at item i0, and its code.
std::string EndOf(const Commands& commands) {
  EXPECT_TRUE(process::BecomeSubreaper());
  const auto end = commands.Run();
  prctl(PR_SET_CHILD_SUBREAPER, 0);
  if (!end) return fmt::format("error {}: {}", ExitStatus(end.error().code), ToString(end.error()));
  return fmt::format("{}: {}", end->kind == AttemptEnd::Kind::kFailed ? "failed" : "done", end->text);
}

class Publish : public testing::Test {
 protected:
  void SetUp() override {
    if (!IsRoot()) GTEST_SKIP() << "needs root";
    out = folder.Directory("out", 0, 01777);
  }
  // In `out`, as the victim.
  std::string End(const std::string& line) const {
    const Commands commands = In(line);  // the victim cannot reach its folder
    return As(kVictim, [&] { return EndOf(commands); });
  }
  Commands In(const std::string& line, int items = 1) const {
    return Commands(line, {}, items, out, folder / "");
  }
  // An earlier result.
  void EarlierResult(const std::string& name, uid_t owner, mode_t mode) const {
    folder.Directory(name, owner, 0755);
    for (const char* file : {"/stdout", "/stderr"}) folder.File(name + file, owner, 0644);
    ASSERT_EQ(chmod((folder / name).c_str(), mode), 0);
  }
  std::string Failed(const std::string& reason) const {
    return "failed: exit 0, but cannot rename to " + out + "/i0: " + reason + " (files: " + out +
           "/.failed/i0)";
  }

  SharedFolder folder;
  std::string out;
};

TEST_F(Publish, ANameThatAnotherUserHasFailsItsItemAlone) {
  const std::string theirs = Failed(
      "Operation not permitted: what is there belongs to user 54322 (have that user move it away, or choose "
      "another map.output)");
  folder.Directory("out/i0", kStranger, 0777);
  EXPECT_EQ(End("echo result"), theirs);
  EXPECT_EQ(TextOf(out + "/.failed/i0/stdout"), "result\n");
  fs::remove(out + "/i0");
  EarlierResult("out/i0", kStranger, 0777);
  EXPECT_EQ(End("true"), theirs);
}

// In a directory of a group: it may replace the entry, but not move the directory of another member.
TEST_F(Publish, ADirectoryThatCannotBeMovedFailsItsItemAlone) {
  ASSERT_EQ(chown(out.c_str(), kVictim, kVictim), 0);
  ASSERT_EQ(chmod(out.c_str(), 0775), 0);
  EarlierResult("out/i0", kStranger, 0755);
  EXPECT_EQ(End("true"),
            Failed("Permission denied: what is there belongs to user 54322 (have that user move it away, or "
                   "choose another map.output)"));
  fs::remove_all(out + "/i0");
  EarlierResult("out/i0", kVictim, 0555);
  EXPECT_EQ(End("true"), Failed("Permission denied, in the place of what is there (move that away)"));
}

TEST_F(Publish, AResultWithoutPermissionToWriteFailsItsItemAlone) {
  const std::string refused =
      "failed: exit 0, but cannot rename to " + out +
      "/i0: Permission denied: the program took the permission to write its directory "
      "(let the program end with chmod u+rwx \"$MUSTER_ITEM_DIR\") (files: " +
      out + "/.attempts/run/i0.1.5)";
  EXPECT_THAT(End("chmod 555 ."), testing::EndsWith(refused));
  fs::remove_all(out + "/.attempts");
  EarlierResult("out/i0", kVictim, 0755);
  EXPECT_THAT(End("chmod 555 ."), testing::EndsWith(refused)) << "an older result is not in the way";
}

TEST_F(Publish, RootReplacesTheResultOfAnotherUser) {
  EarlierResult("out/i0", kStranger, 0755);
  EXPECT_EQ(EndOf(In("echo result")), R"(done: {"exit":0,"directory":"i0"})");
  EXPECT_EQ(TextOf(out + "/i0/stdout"), "result\n");
}

// All items would fail, each after its program has run several times.
TEST_F(Publish, AnOutputThatTakesNoNameIsAnErrorOfTheRank) {
  ASSERT_EQ(chown(out.c_str(), kVictim, kVictim), 0);
  ASSERT_EQ(chmod(out.c_str(), 0755), 0);
  const std::string refused = "error 71: cannot rename to " + out + "/i0: Permission denied";
  EXPECT_EQ(End("chmod 555 " + out), refused);
  ASSERT_EQ(chmod(out.c_str(), 0755), 0);
  folder.Directory("out/i0", kStranger, 0755);
  EXPECT_EQ(End("chmod 555 " + out), refused) << "with an entry of that name";
}

TEST_F(Publish, AnOutputThatIsGoneIsAnErrorOfTheRank) {
  const std::string elsewhere = folder.Directory("elsewhere", kVictim, 0755);
  EXPECT_EQ(End("mv " + out + "/.attempts/run/i0.1.5 " + elsewhere),
            "error 71: the directory " + out +
                "/.attempts/run/i0.1.5 was removed while its program ran (leave the rest to the run of this "
                "map that began later, if there is one; else start it again)");
}

// The other items are done, and the slot continues.
TEST_F(Publish, AMapGoesOnWithItsOtherItems) {
  folder.File("out/i1", kStranger, 0644);
  const Commands commands = In("echo {item}", 4);
  EXPECT_EQ(As(kVictim,
               [&] {
                 FakeMember member(4, 1);
                 Worker worker(member, *commands.source, commands.plan, {{commands.slot, {}}});
                 EXPECT_TRUE(process::BecomeSubreaper());
                 const Status status = worker.Run();
                 const auto outcome = member.Finish();
                 return fmt::format("{}; {} done, {} failed, {} attempts",
                                    status ? "" : ToString(status.error()), outcome->committed,
                                    outcome->poisoned, member.errors.size());
               }),
            "; 3 done, 1 failed, 2 attempts");
}

TEST(PublishName, APathThatIsTooLongFailsItsItemAlone) {
  const Folder folder;
  // The one above can be made.
  const size_t length = PATH_MAX - std::string("/.attempts/run/i0.1.5").size();
  std::string deep = folder.File("out");
  while (length - deep.size() > 200) deep += "/" + std::string(100, 'd');
  deep += "/" + std::string(length - deep.size() - 1, 'd');
  const Commands commands("true", {}, 1, deep, folder.path());
  EXPECT_EQ(EndOf(commands), "failed: cannot make the directory " + deep +
                                 "/.attempts/run/i0.1.5: File name too long (shorten the key of this item or "
                                 "the path of map.output)");
}

}  // namespace
}  // namespace muster::map
