#include "comm/rendezvous/join/prover_choice.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string_view>

#include "comm/auth/munge.h"
#include "comm/net/socket.h"
#include "comm/net/thread_worker.h"
#include "tests/comm/net/test_loop.h"

// In place of the system's: libmunge is on a file system that does not answer.
extern "C" void* dlopen(const char* name, int) {
  while (name != nullptr && std::string_view(name) == muster::auth::kMungeLibrary) pause();
  return nullptr;
}

namespace muster::rendezvous {
namespace {

Bytes ToBytes(ByteView view) { return {view.begin(), view.end()}; }

class ProverChoiceTest : public testing::Test {
 protected:
  Result<std::unique_ptr<auth::Prover>> Choose() { return ChooseProver(request, worker); }

  net::TestLoop loop;
  net::ThreadWorker worker{loop->mailbox()};
  JoinRequest request;
};

TEST_F(ProverChoiceTest, InsideOneNodeNobodyNeedsToProveAnything) {
  request.meeting.find_root = FindRoot::kSameNode;
  request.munge_socket = "/nowhere/munge.socket";
  const auto prover = Choose();
  ASSERT_TRUE(prover);
  EXPECT_EQ((*prover)->method(), AuthMethod::kNone);
}

TEST_F(ProverChoiceTest, BetweenNodesSomethingMustBeKnown) {
  request.meeting.find_root = FindRoot::kHost;
  request.munge_socket = "/nowhere/munge.socket";
  const auto prover = Choose();
  ASSERT_FALSE(prover);
  EXPECT_EQ(prover.error().code, Code::kAuthentication);
}

TEST_F(ProverChoiceTest, TheSecretIsUsedWhereThereIsOne) {
  request.meeting.find_root = FindRoot::kHost;
  request.secret = *auth::JobSecret::Parse(std::string(64, 'a'), "MUSTER_SECRET");
  const auto prover = Choose();
  ASSERT_TRUE(prover);
  EXPECT_EQ((*prover)->method(), AuthMethod::kSecret);
  EXPECT_FALSE((*prover)->psk().empty());
}

TEST_F(ProverChoiceTest, TheSecretOfANoticeServesWhereNoOtherIsKnown) {
  request.meeting.find_root = FindRoot::kEndpointStore;
  request.root_address_secret = *auth::JobSecret::Parse(std::string(64, 'b'), "notice");
  request.munge_socket = "/nowhere/munge.socket";
  const Bytes from_root_address = ToBytes((*Choose())->psk());
  EXPECT_EQ((*Choose())->method(), AuthMethod::kSecret);
  request.secret = *auth::JobSecret::Parse(std::string(64, 'a'), "MUSTER_SECRET");
  EXPECT_NE(ToBytes((*Choose())->psk()), from_root_address);
}

TEST_F(ProverChoiceTest, WhatIsWrittenDownIsObeyed) {
  request.meeting.find_root = FindRoot::kHost;
  request.secret = *auth::JobSecret::Parse(std::string(64, 'a'), "MUSTER_SECRET");
  request.options.auth = AuthMethod::kNone;
  EXPECT_EQ((*Choose())->method(), AuthMethod::kNone);
  request.options.auth = AuthMethod::kMunge;
  request.munge_socket = "/nowhere/munge.socket";
  EXPECT_EQ(Choose().error().message,
            "rendezvous.auth is munge, but this node has no munge socket at "
            "/nowhere/munge.socket");
}

// Other nodes load it, and choose munge.
TEST_F(ProverChoiceTest, ALibraryThatDoesNotLoadIsNoReasonForAnotherMethod) {
  request.meeting.find_root = FindRoot::kHost;
  request.secret = *auth::JobSecret::Parse(std::string(64, 'a'), "MUSTER_SECRET");
  request.munge_socket = fmt::format("/tmp/prover_choice_test.{}", getpid());
  const auto listener = net::Listen(*net::SocketAddress::Path(request.munge_socket));
  ASSERT_TRUE(listener) << listener.error().message;
  request.timeouts.handshake = std::chrono::milliseconds(10);
  const auto prover = Choose();
  unlink(request.munge_socket.c_str());
  ASSERT_FALSE(prover);
  EXPECT_EQ(prover.error().message,
            "libmunge.so.2 has not loaded within 10ms: its file system may be stalled");
}

}  // namespace
}  // namespace muster::rendezvous
