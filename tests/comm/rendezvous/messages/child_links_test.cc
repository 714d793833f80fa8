#include "comm/rendezvous/messages/child_links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/comm/net/test_loop.h"

namespace muster::rendezvous {
namespace {

using testing::ElementsAre;

class ChildLinksTest : public testing::Test {
 protected:
  ChildLinksTest() {
    children.SetHandlers(
        [this](ChildLinks::Source source, ByteView frame) {
          heard.emplace_back(source, std::string(AsText(frame)));
        },
        [this](ChildLinks::Source source, const ChildLinks::Child& child, const Error& reason) {
          closed.emplace_back(source, child.name + ":" + reason.message);
        });
  }
  ChildLinks::Source Add(std::string name) {
    auto [near, far] = net::SocketPair();
    peers.push_back(std::make_unique<net::FrameStream>(*loop, std::move(far), 1000));
    peers.back()->Start([this](ByteView frame) { at_peers.emplace_back(AsText(frame)); },
                        [](const Error&) {});
    return children.Add(std::make_unique<net::FrameStream>(*loop, std::move(near), 1000), std::move(name),
                        true);
  }

  net::TestLoop loop;
  std::vector<std::unique_ptr<net::FrameStream>> peers;
  std::vector<std::string> at_peers;
  std::vector<std::pair<ChildLinks::Source, std::string>> heard;
  std::vector<std::pair<ChildLinks::Source, std::string>> closed;
  ChildLinks children;
};

TEST_F(ChildLinksTest, KnowsWhoSpeaks) {
  const auto a = Add("a");
  const auto b = Add("b");
  EXPECT_NE(a, ChildLinks::kSelf);
  EXPECT_NE(a, b);
  peers[1]->Send(AsBytes("hi"));
  loop.Settle();
  EXPECT_THAT(heard, ElementsAre(std::pair(b, std::string("hi"))));
  EXPECT_EQ(children.Find(b)->name, "b");
  EXPECT_EQ(children.Find(99), nullptr);
}

TEST_F(ChildLinksTest, SpeaksToOneOrAll) {
  const auto a = Add("a");
  Add("b");
  children.Send(a, AsBytes("one"));
  children.Send(99, AsBytes("nobody"));
  children.SendAll(AsBytes("all"));
  loop.Settle();
  EXPECT_THAT(at_peers, testing::UnorderedElementsAre("one", "all", "all"));
}

TEST_F(ChildLinksTest, WhoHangsUpIsTakenOutBeforeThatIsTold) {
  const auto a = Add("a");
  bool was_out = false;
  children.SetHandlers([](ChildLinks::Source, ByteView) {},
                       [&](ChildLinks::Source source, const ChildLinks::Child& child, const Error&) {
                         was_out = children.Find(source) == nullptr && child.name == "a";
                       });
  peers.clear();
  loop.Settle();
  EXPECT_TRUE(was_out);
  EXPECT_TRUE(children.empty());
  EXPECT_EQ(children.Find(a), nullptr);
}

TEST_F(ChildLinksTest, AHandlerMayRemoveAnyBranch) {
  const auto a = Add("a");
  const auto b = Add("b");
  children.SetHandlers(
      [&](ChildLinks::Source source, ByteView frame) {
        heard.emplace_back(source, std::string(AsText(frame)));
        children.Remove(a);
        children.Remove(b);
      },
      [](ChildLinks::Source, const ChildLinks::Child&, const Error&) { FAIL() << "removed is not closed"; });
  peers[0]->Send(AsBytes("x"));
  peers[1]->Send(AsBytes("x"));
  loop.Settle();
  EXPECT_EQ(heard.size(), 1u);
  EXPECT_TRUE(children.empty());
}

TEST_F(ChildLinksTest, TheNextOwnerHearsTheRest) {
  Add("a");
  std::vector<std::string> next_owner;
  children.SetHandlers(
      [&](ChildLinks::Source, ByteView) {
        children.SetHandlers(
            [&](ChildLinks::Source, ByteView frame) { next_owner.emplace_back(AsText(frame)); },
            [](ChildLinks::Source, const ChildLinks::Child&, const Error&) {});
      },
      [](ChildLinks::Source, const ChildLinks::Child&, const Error&) {});
  for (const char* text : {"one", "two", "three"}) peers[0]->Send(AsBytes(text));
  loop.Settle();
  EXPECT_THAT(next_owner, ElementsAre("two", "three"));
}

}  // namespace
}  // namespace muster::rendezvous
