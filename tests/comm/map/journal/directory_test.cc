#include "comm/map/journal/directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/prctl.h>

#include <fstream>

#include "tests/comm/base/another_user.h"
#include "tests/comm/base/print_error.h"

namespace muster::map {
namespace {

using testing::HasSubstr;

// A rootless container: only this user has a number there.
std::string OpenInNamespace(const std::string& journal, uint32_t term) {
  return As(kVictim, [&]() -> std::string {
    prctl(PR_SET_DUMPABLE, 1);  // else its own files of /proc are root's
    if (unshare(CLONE_NEWUSER) != 0) return "no user namespace";
    std::ofstream("/proc/self/uid_map") << "0 " << kVictim << " 1";
    const auto directory = JournalDirectory::Open(journal);
    if (!directory) return ToString(directory.error());
    const auto segment = directory->OpenSegment(term);
    return segment ? "opened" : ToString(segment.error());
  });
}

TEST(JournalDirectory, RefusesAStrangersSegmentInAUserNamespace) {
  if (!IsRoot()) GTEST_SKIP() << "only root gives files away";
  const SharedFolder shared;
  const std::string journal = shared.Directory("journal", kVictim, 0777);
  shared.File("journal/000001.segment", kVictim, 0644);
  shared.File("journal/000002.segment", kStranger, 0644);
  const std::string own = OpenInNamespace(journal, 1);
  if (own == "no user namespace") GTEST_SKIP() << own;
  EXPECT_EQ(own, "opened");
  EXPECT_THAT(
      OpenInNamespace(journal, 2),
      HasSubstr("belongs to uid 65534, and every user may write the directory (chmod o-w " + journal + ")"));
  ASSERT_EQ(chmod(journal.c_str(), 0775), 0);
  EXPECT_EQ(OpenInNamespace(journal, 2), "opened") << "a project's directory";
}

}  // namespace
}  // namespace muster::map
