#include "comm/rendezvous/messages/branches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/comm/net/test_loop.h"

namespace muster {
namespace {

using testing::ElementsAre;

class BranchesTest : public testing::Test {
 protected:
  BranchesTest() {
    branches.SetHandlers(
        [this](Branches::Source source, ByteView frame) {
          heard.emplace_back(source, std::string(AsText(frame)));
        },
        [this](Branches::Source source, const Branches::Branch& branch, const Error& reason) {
          closed.emplace_back(source, branch.name + ":" + reason.message);
        });
  }
  Branches::Source Add(std::string name) {
    auto [near, far] = SocketPair();
    peers.push_back(std::make_unique<FrameStream>(*loop, std::move(far), 1000));
    peers.back()->Start([this](ByteView frame) { at_peers.emplace_back(AsText(frame)); },
                        [](const Error&) {});
    return branches.Add(std::make_unique<FrameStream>(*loop, std::move(near), 1000), std::move(name), true);
  }

  TestLoop loop;
  std::vector<std::unique_ptr<FrameStream>> peers;
  std::vector<std::string> at_peers;
  std::vector<std::pair<Branches::Source, std::string>> heard;
  std::vector<std::pair<Branches::Source, std::string>> closed;
  Branches branches;
};

TEST_F(BranchesTest, KnowsWhoSpeaks) {
  const auto a = Add("a");
  const auto b = Add("b");
  EXPECT_NE(a, Branches::kSelf);
  EXPECT_NE(a, b);
  peers[1]->Send(AsBytes("hi"));
  loop.Settle();
  EXPECT_THAT(heard, ElementsAre(std::pair(b, std::string("hi"))));
  EXPECT_EQ(branches.Find(b)->name, "b");
  EXPECT_EQ(branches.Find(99), nullptr);
}

TEST_F(BranchesTest, SpeaksToOneOrAll) {
  const auto a = Add("a");
  Add("b");
  branches.Send(a, AsBytes("one"));
  branches.Send(99, AsBytes("nobody"));
  branches.SendAll(AsBytes("all"));
  loop.Settle();
  EXPECT_THAT(at_peers, testing::UnorderedElementsAre("one", "all", "all"));
}

TEST_F(BranchesTest, WhoHangsUpIsTakenOutBeforeThatIsTold) {
  const auto a = Add("a");
  bool was_out = false;
  branches.SetHandlers([](Branches::Source, ByteView) {},
                       [&](Branches::Source source, const Branches::Branch& branch, const Error&) {
                         was_out = branches.Find(source) == nullptr && branch.name == "a";
                       });
  peers.clear();
  loop.Settle();
  EXPECT_TRUE(was_out);
  EXPECT_TRUE(branches.empty());
  EXPECT_EQ(branches.Find(a), nullptr);
}

TEST_F(BranchesTest, AHandlerMayRemoveAnyBranch) {
  const auto a = Add("a");
  const auto b = Add("b");
  branches.SetHandlers(
      [&](Branches::Source source, ByteView frame) {
        heard.emplace_back(source, std::string(AsText(frame)));
        branches.Remove(a);
        branches.Remove(b);
      },
      [](Branches::Source, const Branches::Branch&, const Error&) { FAIL() << "removed is not closed"; });
  peers[0]->Send(AsBytes("x"));
  peers[1]->Send(AsBytes("x"));
  loop.Settle();
  EXPECT_EQ(heard.size(), 1u);
  EXPECT_TRUE(branches.empty());
}

TEST_F(BranchesTest, TheNextOwnerHearsTheRest) {
  Add("a");
  std::vector<std::string> next_owner;
  branches.SetHandlers(
      [&](Branches::Source, ByteView) {
        branches.SetHandlers(
            [&](Branches::Source, ByteView frame) { next_owner.emplace_back(AsText(frame)); },
            [](Branches::Source, const Branches::Branch&, const Error&) {});
      },
      [](Branches::Source, const Branches::Branch&, const Error&) {});
  for (const char* text : {"one", "two", "three"}) peers[0]->Send(AsBytes(text));
  loop.Settle();
  EXPECT_THAT(next_owner, ElementsAre("two", "three"));
}

}  // namespace
}  // namespace muster
