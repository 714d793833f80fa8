// A rank that is asked for its items when a thread waits for one.
#include <gtest/gtest.h>

#include <future>
#include <utility>

#include "comm/group/group.h"
#include "comm/map/messages.h"
#include "tests/comm/map/members.h"

namespace muster::map {
namespace {

// The rank of a group whose root is the test.
class RankWithoutRoot : public GroupWithoutRoot, private RootLink {
 public:
  RankWithoutRoot() : GroupWithoutRoot(OfOneMember(), 1) {}

  RootLink* root_link() override { return this; }

  void Receive(const Bytes& message) const { listener_.on_message(message); }
  // BLOCKS until the rank has sent its first Want.
  void AwaitWant() { wants_.get_future().wait(); }
  size_t items_given_back() const { return items_given_back_; }

 private:
  void SendToRoot(Bytes message) override {
    const MessageType type = HeadingOf(message)->type;
    if (type == MessageType::kJoin) Receive(EncodeBare(MessageType::kOpened, 0));
    if (type == MessageType::kWant && !std::exchange(wanted_, true)) wants_.set_value();
    if (type == MessageType::kGiveBack) items_given_back_ += Decode<GivenBack>(message)->items.size();
  }
  void AwaitSent() override {}
  void SetListener(uint32_t, Listener listener) override {
    if (listener.on_message) listener_ = std::move(listener);
  }

  static Roster OfOneMember() {
    Roster roster;
    roster.members.push_back({});
    return roster;
  }

  Listener listener_;
  std::promise<void> wants_;
  bool wanted_ = false;
  size_t items_given_back_ = 0;
};

// Else the root would grant it again and recall it again, as long as another rank has no item.
TEST(Map, AnItemThatAThreadWaitsForIsNotGivenBack) {
  RankWithoutRoot group;
  const auto member = Member::Join(group, Of(2), {}, Deadline::Never());
  ASSERT_TRUE(member) << ToString(member.error());
  auto next = std::async(std::launch::async, [&] { return (*member)->Next(); });
  group.AwaitWant();
  // Both are there before the thread has woken.
  group.Receive(Encode(0, Granted{{{0, 1}, {1, 1}}}));
  group.Receive(EncodeBare(MessageType::kRecall, 0));
  EXPECT_EQ(group.items_given_back(), 1);
  if (group.items_given_back() > 1) (*member)->Close();
  const auto item = next.get();
  ASSERT_TRUE(item && *item);
  EXPECT_EQ((*item)->index, 0);
}

}  // namespace
}  // namespace muster::map
