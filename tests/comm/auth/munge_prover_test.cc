#include "comm/auth/munge_prover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/comm/auth/fake_munge.h"
#include "tests/comm/auth/inline_worker.h"

namespace muster::auth {
namespace {

class MungeProverTest : public testing::Test {
 protected:
  MungeProverTest() : fake(TheFakeMunge()) { fake = FakeMunge(); }

  static MungeProverOptions Options() {
    return {"/run/m", 1000, [] { return Result<MungeApi>(FakeMungeApi()); }};
  }

  static Result<Bytes> Make(Prover& prover, Role role) {
    Result<Bytes> result = Fail(Code::kInternal, "not called");
    prover.Make("", role, AsBytes("transcript"), [&](Result<Bytes> made) { result = std::move(made); });
    return result;
  }
  static Status Check(Prover& prover, Role peer_role, std::string_view transcript = "transcript") {
    Status result = Fail(Code::kInternal, "not called");
    prover.Check("", peer_role, AsBytes(transcript), AsBytes("MUNGE:fake:"),
                 [&](Status status) { result = std::move(status); });
    return result;
  }
  void ExpectRefused(const Status& status, std::string_view message, std::string_view hint = "") {
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Code::kAuthentication);
    EXPECT_EQ(status.error().message, message);
    EXPECT_EQ(status.error().hint, hint);
  }

  FakeMunge& fake;
  InlineWorker worker;
  std::unique_ptr<Prover> prover = MakeMungeProver(Options(), worker);
};

TEST_F(MungeProverTest, TakesItsOwnCredentialForTheSameRoleAndTranscript) {
  EXPECT_EQ(prover->method(), AuthMethod::kMunge);
  EXPECT_TRUE(prover->psk().empty());
  const Result<Bytes> made = Make(*prover, Role::kServer);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(AsText(*made), "MUNGE:fake:");
  EXPECT_EQ(fake.only_for, 1000U);
  EXPECT_EQ(fake.socket, "/run/m");
  EXPECT_TRUE(Check(*prover, Role::kServer));
}

TEST_F(MungeProverTest, TheCredentialHoldsTheseBytes) {
  ASSERT_TRUE(Make(*prover, Role::kServer));
  EXPECT_EQ(fake.payload, std::string("\x10\0\0\0muster handshake\x02\x0a\0\0\0transcript", 35));
}

TEST_F(MungeProverTest, RefusesAnotherTranscriptAndAnotherRole) {
  ASSERT_TRUE(Make(*prover, Role::kServer));
  ExpectRefused(Check(*prover, Role::kServer, "Transcript"),
                "its munge credential was made for another handshake");
  ExpectRefused(Check(*prover, Role::kClient), "its munge credential was made for another handshake");
  fake.payload.clear();
  ExpectRefused(Check(*prover, Role::kServer), "its munge credential was made for another handshake");
}

TEST_F(MungeProverTest, RefusesAnotherUser) {
  ASSERT_TRUE(Make(*prover, Role::kServer));
  fake.uid = 1001;
  ExpectRefused(Check(*prover, Role::kServer),
                "by its munge credential it runs as uid 1001, this rank as 1000",
                "start all ranks as one user");
  fake.uid = 0;
  ExpectRefused(Check(*prover, Role::kServer), "by its munge credential it runs as uid 0, this rank as 1000",
                "start all ranks as one user");
}

TEST_F(MungeProverTest, RefusesACredentialThatOthersCanRead) {
  ASSERT_TRUE(Make(*prover, Role::kServer));
  for (const uid_t only_for :
       {static_cast<uid_t>(MUNGE_UID_ANY), static_cast<uid_t>(0), static_cast<uid_t>(1001)}) {
    fake.only_for = only_for;
    ExpectRefused(Check(*prover, Role::kServer), "its munge credential is not restricted to uid 1000");
  }
}

TEST_F(MungeProverTest, PassesOnWhatMungeSays) {
  ASSERT_TRUE(Make(*prover, Role::kServer));
  fake.error = EMUNGE_CRED_REPLAYED;
  ExpectRefused(Check(*prover, Role::kServer), "its munge credential has been used before on this node");
  fake.error = EMUNGE_SOCKET;
  const Result<Bytes> made = Make(*prover, Role::kServer);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message, "munged does not answer at /run/m: text of the code");
}

TEST_F(MungeProverTest, AMissingLibraryIsNamed) {
  const auto without =
      MakeMungeProver({"/run/m", 1000, [] { return LoadMunge("libmuster-no-such.so.1"); }}, worker);
  const Result<Bytes> made = Make(*without, Role::kClient);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::kAuthentication);
  EXPECT_THAT(made.error().message, testing::StartsWith("cannot load libmuster-no-such.so.1: "));
  ExpectRefused(Check(*without, Role::kClient), made.error().message, made.error().hint);
}

TEST_F(MungeProverTest, AJobOutlivesTheProver) {
  HeldWorker held;
  std::optional<Result<Bytes>> made;
  std::optional<Status> checked;
  {
    const auto gone = MakeMungeProver(Options(), held);
    gone->Make("", Role::kServer, Bytes{1, 2, 3}, [&](Result<Bytes> result) { made = std::move(result); });
    gone->Check("", Role::kServer, Bytes{1, 2, 3}, Bytes{'x'},
                [&](Status result) { checked = std::move(result); });
  }
  ASSERT_EQ(held.held(), 2U);
  EXPECT_FALSE(made || checked);
  held.RunNext();
  held.RunNext();
  ASSERT_TRUE(made && checked);
  EXPECT_TRUE(*made);
  EXPECT_TRUE(*checked) << checked->error().message;
  EXPECT_EQ(fake.decoded_text, "x");
}

TEST_F(MungeProverTest, AJobThatWasNotRunProvesNothing) {
  // A worker that answers without having worked.
  class Lazy final : public BlockingWorker {
   public:
    Pending RunFor(const std::string*, std::function<void()>, std::function<void()> done_on_loop) override {
      done_on_loop();
      return nullptr;
    }
  } lazy;
  const auto idle = MakeMungeProver(Options(), lazy);
  EXPECT_FALSE(Make(*idle, Role::kClient));
  EXPECT_FALSE(Check(*idle, Role::kClient));
}

}  // namespace
}  // namespace muster::auth
