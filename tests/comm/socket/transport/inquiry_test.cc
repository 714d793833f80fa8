#include "comm/socket/transport/inquiry.h"

#include <gtest/gtest.h>

#include "tests/comm/socket/fake_meshes.h"

namespace muster::socket {
namespace {

// Of a question of rank 0 to rank 1.
Inquiry::State EndOfAQuestion(FakeMeshes& fake, const Call& call) {
  const Deadline deadline = Deadline::After(std::chrono::seconds(20));
  const uint64_t question = fake.meshes[0]->Inquire(1, call);
  while (fake.meshes[0]->Look(question) == Inquiry::State::kOpen && !deadline.Expired()) {
    for (const std::shared_ptr<Mesh>& mesh : fake.meshes) {
      if (mesh) mesh->Serve();
    }
  }
  return fake.meshes[0]->Look(question);
}

TEST(Inquiry, FindsAPeerThatIsThereThatHasLeftAndThatHasEnded) {
  FakeMeshes fake(BlockLayout({2}));
  Call call;
  call.communicator = 1;
  EXPECT_EQ(EndOfAQuestion(fake, call), Inquiry::State::kAnswered);
  fake.meshes[1]->End(1, Purpose::kCollective);
  EXPECT_EQ(EndOfAQuestion(fake, call), Inquiry::State::kLeft);
  call.communicator = 2;
  EXPECT_EQ(EndOfAQuestion(fake, call), Inquiry::State::kAnswered);
  fake.meshes[1].reset();
  EXPECT_EQ(EndOfAQuestion(fake, call), Inquiry::State::kRefused);
}

}  // namespace
}  // namespace muster::socket
