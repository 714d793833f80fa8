// Pipes of programs that the kernel refuses to watch: nothing is lost.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "comm/base/unique_fd.h"
#include "tests/bootstrap/cli/launched.h"

namespace muster::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class FullEpoll : public testing::Test {
 protected:
  FullEpoll() {
    setenv("LD_PRELOAD", std::filesystem::absolute("tests/bootstrap/cli/libfull_epoll.so").c_str(), 1);
  }
  ~FullEpoll() override { unsetenv("LD_PRELOAD"); }

  static testing::Matcher<std::string> Names(const std::string& stream, int rank) {
    return HasSubstr("muster: warning: the standard " + stream + " of rank " + std::to_string(rank) +
                     " is examined every 10ms instead of watched: cannot watch descriptor ");
  }

  const Folder folder;
};

// More than the pipes and muster hold.
TEST_F(FullEpoll, OutputIsReadAtIntervals) {
  Launched muster({"launch", "-n", "2", "--label", "--", "sh", "-c", "seq 1 40000; seq 1 40000 >&2"});
  EXPECT_EQ(muster.Wait(), 0) << muster.Err();
  EXPECT_THAT(muster.Err(),
              AllOf(Names("output", 0), Names("output", 1), Names("error", 0), Names("error", 1)));
  for (const std::string& text : {muster.Out(), muster.Err()}) {
    EXPECT_THAT(text, AllOf(HasSubstr("0: 40000\n"), HasSubstr("1: 40000\n")));
    EXPECT_GE(std::ranges::count(text, '\n'), 80000);
  }
}

TEST_F(FullEpoll, InputIsCopiedAtIntervals) {
  const std::string fifo = folder.File("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  Launched muster({"launch", "-n", "2", "--stdin", "all", "--", "sh", "-c", "wc -c >@/bytes.$RANK"}, fifo);
  UniqueFd feed(open(fifo.c_str(), O_WRONLY | O_CLOEXEC));
  EXPECT_TRUE(muster.Says("warning: the standard input is examined every 10ms instead of watched: "));
  const std::string text(1'000'000, 'x');
  EXPECT_EQ(write(feed.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  feed.Reset();
  EXPECT_EQ(muster.Wait(), 0) << muster.Err();
  EXPECT_EQ(ContentOf(muster.File("bytes.0")), "1000000\n");
  EXPECT_EQ(ContentOf(muster.File("bytes.1")), "1000000\n");
  EXPECT_THAT(muster.Err(), AllOf(Names("input", 0), Names("input", 1)));
}

}  // namespace
}  // namespace muster::cli
