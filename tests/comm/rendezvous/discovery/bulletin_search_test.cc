#include "comm/rendezvous/discovery/bulletin_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>

#include "comm/rendezvous/link/root_door.h"
#include "tests/comm/net/test_loop.h"

namespace muster {
namespace {

using std::chrono::seconds;

// What is on it, and whether it works, is the test's to say.
struct FakeBoard {
  void Set(Result<std::optional<std::string>> to) {
    const std::lock_guard lock(mutex);
    now = std::move(to);
  }
  std::mutex mutex;
  Result<std::optional<std::string>> now;
};

class FakeBulletin : public Bulletin {
 public:
  explicit FakeBulletin(FakeBoard& board) : board_(board) {}
  Status Publish(std::string_view notice, Deadline) override {
    board_.Set(std::string(notice));
    return {};
  }
  Result<std::optional<std::string>> LookUp(Deadline) override {
    const std::lock_guard lock(board_.mutex);
    return board_.now;
  }
  std::string Describe() const override { return "the board"; }

 private:
  FakeBoard& board_;
};

class BulletinSearchTest : public testing::Test {
 protected:
  BulletinSearchTest() {
    EXPECT_TRUE(door.Open({*SocketAddress::FromNumeric("127.0.0.1", 0)}, {port}));
    search = std::make_unique<BulletinSearch>(
        *loop, std::make_unique<FakeBulletin>(board), RootDialer::Params{meeting, seconds(10), seconds(10)},
        [this](const std::optional<JobSecret>& found) -> Result<std::unique_ptr<Prover>> {
          if (refuse_prover) return Fail(Code::kAuthentication, "nothing can be proven");
          return found ? MakeSecretProver(*found) : MakeNoneProver();
        },
        [this](std::unique_ptr<FrameStream> found) {
          link = std::move(found);
          link->Start([](ByteView) {}, [](const Error&) {});
          search.reset();
        },
        [this](const Error& error) {
          hopeless = error;
          search.reset();
        });
  }
  ~BulletinSearchTest() override {
    search.reset();
    loop.Settle();
  }
  Notice At(uint16_t where, const JobSecret& with) const {
    return {{*SocketAddress::FromNumeric("127.0.0.1", where)}, with};
  }

  FakeBoard board;
  TestLoop loop;
  const MeetingId meeting = MeetingIdOf("bulletin_search_test");
  const uint16_t port = FreePort();
  const JobSecret secret = *JobSecret::Generate();
  const std::unique_ptr<Prover> prover = MakeSecretProver(secret);
  bool refuse_prover = false;
  std::unique_ptr<FrameStream> accepted;
  std::unique_ptr<FrameStream> link;
  std::optional<Error> hopeless;
  RootDoor door{*loop,
                {meeting, seconds(10)},
                *prover,
                [this](std::unique_ptr<FrameStream> from, const SocketAddress&) {
                  accepted = std::move(from);
                  accepted->Start([](ByteView) {}, [](const Error&) {});
                }};
  std::unique_ptr<BulletinSearch> search;
};

TEST_F(BulletinSearchTest, WaitsForANoticeAndFollowsIt) {
  ASSERT_TRUE(loop.Until([&] { return search->Problem() == "the board does not say yet where it listens"; }));
  board.Set(Encode(At(port, secret)));
  ASSERT_TRUE(loop.Until([&] { return link && accepted; }));
}

TEST_F(BulletinSearchTest, ANewerNoticeReplacesThatOfARootThatIsGone) {
  const uint16_t nobody = FreePort();
  board.Set(Encode(At(nobody, *JobSecret::Generate())));
  ASSERT_TRUE(loop.Until(
      [&] { return search->Problem() == fmt::format("127.0.0.1:{}: Connection refused", nobody); }));
  board.Set(Encode(At(port, secret)));
  ASSERT_TRUE(loop.Until([&] { return link && accepted; }));
}

TEST_F(BulletinSearchTest, AnotherSecretIsTheOldOnes) {
  board.Set(Encode(At(port, *JobSecret::Generate())));
  ASSERT_TRUE(loop.Until([&] { return search->rejection() || !search->Problem().empty(); }));
  EXPECT_FALSE(link);
  board.Set(Encode(At(port, secret)));
  ASSERT_TRUE(loop.Until([&] { return link && accepted; }));
}

TEST_F(BulletinSearchTest, SaysWhatIsWrongWithTheNotice) {
  board.Set("5");
  ASSERT_TRUE(loop.Until([&] {
    return search->Problem() ==
           "the board: what the root left there is no notice of this release of muster: it does not begin as "
           "one";
  }));
  EXPECT_FALSE(hopeless);
}

TEST_F(BulletinSearchTest, GoesOnWhereTheBulletinFails) {
  board.Set(Fail(Code::kSystem, "it broke"));
  ASSERT_TRUE(loop.Until([&] { return search->Problem() == "it broke"; }));
  EXPECT_FALSE(search->rejection());
  board.Set(Encode(At(port, secret)));
  ASSERT_TRUE(loop.Until([&] { return link && accepted; }));
}

TEST_F(BulletinSearchTest, EndsWhereTryingAgainIsOfNoUse) {
  board.Set(Fail(Code::kConfiguration, "it never works"));
  ASSERT_TRUE(loop.Until([&] { return hopeless.has_value(); }));
  EXPECT_EQ(hopeless->message, "it never works");
}

TEST_F(BulletinSearchTest, EndsWhereNothingCanBeProven) {
  refuse_prover = true;
  board.Set(Encode(At(port, secret)));
  ASSERT_TRUE(loop.Until([&] { return hopeless.has_value(); }));
  EXPECT_EQ(hopeless->message, "nothing can be proven");
}

}  // namespace
}  // namespace muster
