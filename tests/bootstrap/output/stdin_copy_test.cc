#include "bootstrap/output/stdin_copy.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <string_view>
#include <vector>

#include "tests/bootstrap/output/pipe.h"
#include "tests/comm/net/test_loop.h"

namespace muster::output {
namespace {

constexpr size_t kPipe = size_t{64} * 1024;

// Differs everywhere from itself moved by a few bytes.
std::string Text(size_t bytes) {
  std::string text;
  for (int i = 0; text.size() < bytes; ++i) text += std::to_string(i) + "\n";
  text.resize(bytes);
  return text;
}

class StdinCopyTest : public testing::Test {
 protected:
  StdinCopyTest() { signal(SIGPIPE, SIG_IGN); }

  void Copy(int source, int readers) {
    copy = std::make_unique<StdinCopy>(*loop, source);
    for (int rank = 0; rank < readers; ++rank) {
      auto end = copy->AddReader(rank);
      ASSERT_TRUE(end);
      fcntl(end->get(), F_SETFL, O_NONBLOCK);
      ends.push_back(*std::move(end));
      taken.emplace_back();
      over.push_back(false);
    }
    copy->Start();
  }
  // The bytes that are there for that reader now.
  void Take(size_t rank) {
    char buffer[65536];
    ssize_t got = 0;
    while ((got = read(ends[rank].get(), buffer, sizeof buffer)) > 0) {
      taken[rank].append(buffer, static_cast<size_t>(got));
    }
    over[rank] = over[rank] || got == 0;
  }
  // Until these readers are at the end of the file.
  void TakeAll(const std::vector<size_t>& ranks) {
    EXPECT_TRUE(loop.Until([&] {
      bool all = true;
      for (const size_t rank : ranks) {
        if (!over[rank]) Take(rank);
        all = all && over[rank];
      }
      if (!all) loop->After(std::chrono::milliseconds(1), [] {});
      return all;
    }));
  }
  // As much as goes in while nothing but the copy reads.
  size_t Fill(const UniqueFd& fd, std::string_view text) {
    size_t written = 0;
    for (int idle = 0; idle < 20 && written < text.size();) {
      const ssize_t count = write(fd.get(), text.data() + written, text.size() - written);
      idle = count > 0 ? 0 : idle + 1;
      if (count > 0) written += static_cast<size_t>(count);
      loop.Settle();
    }
    return written;
  }
  // Feeds `text` from `fed` on, while the first reader alone takes it.
  void ExpectFirstTakes(std::string_view text, size_t fed, UniqueFd& feed) {
    while (fed < text.size()) {
      Take(0);
      const size_t more = Fill(feed, text.substr(fed));
      ASSERT_GT(more, 0U);
      fed += more;
    }
    feed.Reset();
    TakeAll({0});
    EXPECT_TRUE(taken[0] == text);
  }

  net::TestLoop loop;
  std::vector<UniqueFd> ends;
  std::vector<std::string> taken;
  std::vector<bool> over;
  std::unique_ptr<StdinCopy> copy;
};

TEST_F(StdinCopyTest, EveryReaderHasAllOfAPipe) {
  Pipe pipe = MakePipe();
  const std::string text = Text(kPipe);
  ASSERT_EQ(write(pipe.write_end.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  pipe.write_end.Reset();
  Copy(pipe.read_end.get(), 3);
  TakeAll({0, 1, 2});
  for (const std::string& one : taken) EXPECT_EQ(one, text);
}

TEST_F(StdinCopyTest, EveryReaderHasAllOfAFile) {
  const std::string path = testing::TempDir() + "/stdin_copy_test";
  const UniqueFd file(open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const std::string text = Text(20 * kPipe);
  ASSERT_EQ(write(file.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  ASSERT_EQ(lseek(file.get(), 0, SEEK_SET), 0);
  unlink(path.c_str());
  Copy(file.get(), 2);
  TakeAll({0, 1});
  EXPECT_TRUE(taken[0] == text);
  EXPECT_TRUE(taken[1] == text);
}

TEST_F(StdinCopyTest, TheSlowestReaderSetsThePaceAndMemoryIsBounded) {
  Pipe pipe = MakePipe();
  Copy(pipe.read_end.get(), 2);
  const std::string text = Text(64 * kPipe);
  size_t fed = 0;
  for (int round = 0; round < 30; ++round) {
    fed += Fill(pipe.write_end, std::string_view(text).substr(fed));
    Take(0);
  }
  // In the source's pipe, here (and one chunk beyond the limit), and in the slow reader's pipe.
  EXPECT_LE(fed, (1 + 4 + 1 + 1) * kPipe);
  EXPECT_GE(taken[0].size(), 4 * kPipe);
  EXPECT_TRUE(taken[1].empty());
  while (fed < text.size()) {
    const size_t more = Fill(pipe.write_end, std::string_view(text).substr(fed));
    Take(0);
    Take(1);
    ASSERT_FALSE(more == 0 && taken[1].empty());
    fed += more;
  }
  pipe.write_end.Reset();
  TakeAll({0, 1});
  EXPECT_TRUE(taken[0] == text);
  EXPECT_TRUE(taken[1] == text);
}

TEST_F(StdinCopyTest, AProgramIsNotWaitedForThatHasEnded) {
  Pipe pipe = MakePipe();
  Copy(pipe.read_end.get(), 2);
  const std::string text = Text(30 * kPipe);
  const size_t fed = Fill(pipe.write_end, text);
  EXPECT_LT(fed, text.size());
  copy->Drop(1);
  ExpectFirstTakes(text, fed, pipe.write_end);
}

TEST_F(StdinCopyTest, AProgramIsNotWaitedForThatHasClosedItsInput) {
  Pipe pipe = MakePipe();
  Copy(pipe.read_end.get(), 2);
  const std::string text = Text(30 * kPipe);
  const size_t fed = Fill(pipe.write_end, text);
  ends[1].Reset();
  ExpectFirstTakes(text, fed, pipe.write_end);
}

TEST_F(StdinCopyTest, AClosedInputIsAtItsEnd) {
  Pipe pipe = MakePipe();
  const int closed = pipe.read_end.get();
  pipe.read_end.Reset();
  Copy(closed, 1);
  TakeAll({0});
  EXPECT_EQ(taken[0], "");
}

// The kernel has the last word on what a socket announces.
TEST_F(StdinCopyTest, ASocketIsCopiedAsWell) {
  auto [here, there] = net::SocketPair();
  fcntl(here.get(), F_SETFL, 0);
  ASSERT_EQ(write(there.get(), "abc", 3), 3);
  there.Reset();
  Copy(here.get(), 2);
  TakeAll({0, 1});
  EXPECT_EQ(taken[0], "abc");
  EXPECT_EQ(taken[1], "abc");
}

}  // namespace
}  // namespace muster::output
