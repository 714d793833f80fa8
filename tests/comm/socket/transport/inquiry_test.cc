#include "comm/socket/transport/inquiry.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "comm/log/rejection_log.h"
#include "tests/comm/base/log_capture.h"
#include "tests/comm/socket/fake_meshes.h"
#include "tests/comm/socket/man_in_the_middle.h"

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
  for (const auto& [layout, ciphers] : {std::pair(BlockLayout({2}), auth::CipherSet{0}),
                                        {BlockLayout({1, 1}), auth::CipherSet{0}},
                                        {BlockLayout({1, 1}), auth::OwnCiphers()}}) {
    FakeMeshes fake(layout, {}, {.ciphers = ciphers});
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
}

// Between two nodes, with a change on the way to rank 1 (up) or back.
TEST(Inquiry, AnAlteredOneHasNoAnswerAndTheLogHasALimit) {
  for (const bool up : {true, false}) {
    const LogCapture log;
    std::unique_ptr<ManInTheMiddle> man;
    FakeMeshes fake(BlockLayout({1, 1}), {}, {.ciphers = auth::OwnCiphers()},
                    [&](int rank, EndpointAddress& address) {
                      if (rank != 1) return;
                      man = std::make_unique<ManInTheMiddle>(address.port, Flip(up, 0));
                      address.port = man->port();
                    });
    EXPECT_EQ(EndOfAQuestion(fake, {}), Inquiry::State::kFailed) << up;
    EXPECT_TRUE(log.Has(up ? "warning: a question of rank 0 was changed on the way; ignored\n"
                           : "warning: an answer of rank 1 was changed on the way; ignored\n"));
    for (int i = 0; i < 30; ++i) EndOfAQuestion(fake, {});
    const std::string text = log.Text();
    EXPECT_EQ(std::ranges::count(text, '\n'), RejectionLog::kLoggedPerMinute);
  }
}

// The state of a question of rank 1 that rank 0 answers with this byte.
Inquiry::State StateAfter(uint8_t answer) {
  const auto loop = *net::EventLoop::Create();
  const auto endpoint = *SocketEndpoint::Open();
  const GroupMember asked{0, 2, {}, "0011"};
  const GroupMember asking{1, 2, {}, "0011"};
  ProvenLink link;
  PeerAcceptor acceptor(*loop, asked, *endpoint, {}, [&](const LinkKey&, ProvenLink arrived) {
    link = std::move(arrived);
    EXPECT_EQ(send(link.fd.get(), &answer, 1, MSG_NOSIGNAL), 1);
  });
  EXPECT_EQ(MessageOf(acceptor.Start()), "");
  const auto address = *net::SocketAddress::FromNumeric("127.0.0.1", endpoint->address().port);
  Inquiry inquiry(*loop,
                  std::make_unique<Dial>(*loop, asking, LinkKey{1, Purpose::kInquiry, 0},
                                         DialStages{{address}}, std::chrono::minutes(1)),
                  {});
  const Deadline deadline = Deadline::After(std::chrono::seconds(20));
  while (inquiry.state() == Inquiry::State::kOpen && !deadline.Expired()) {
    loop->RunReady();
    acceptor.OnTime();
    inquiry.OnTime();
  }
  return inquiry.state();
}

// A rank of an older build answers 0, 1 or 2 while it is in the communicator.
TEST(Inquiry, FindsAPeerOfAnOlderBuildThere) {
  for (uint8_t there = 0; there < 3; ++there) {
    EXPECT_EQ(StateAfter(there), Inquiry::State::kAnswered) << int{there};
  }
  EXPECT_EQ(StateAfter(3), Inquiry::State::kLeft);
}

}  // namespace
}  // namespace muster::socket
