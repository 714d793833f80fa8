#include "comm/auth/proof.h"

#include <gtest/gtest.h>

#include <optional>

namespace muster::auth {
namespace {

TEST(AuthMethodName, IsWhatTheConfigurationSays) {
  EXPECT_EQ(AuthMethodName(AuthMethod::kAuto), "auto");
  EXPECT_EQ(AuthMethodName(AuthMethod::kMunge), "munge");
  EXPECT_EQ(AuthMethodName(AuthMethod::kSecret), "secret");
  EXPECT_EQ(AuthMethodName(AuthMethod::kNone), "none");
  EXPECT_EQ(AuthMethodName(static_cast<AuthMethod>(77)), "unknown");
}

TEST(EmptyProof, IsEmptyAndNothingElseIsTaken) {
  const Result<JobSecret> secret = JobSecret::Generate();
  ASSERT_TRUE(secret);
  const auto none = MakeNoneProver();
  const auto with_secret = MakeSecretProver(*secret);
  for (Prover* prover : {none.get(), with_secret.get()}) {
    std::optional<Result<Bytes>> made;
    prover->Make("", Role::kClient, AsBytes("transcript"),
                 [&](Result<Bytes> proof) { made = std::move(proof); });
    ASSERT_TRUE(made && *made);
    EXPECT_TRUE((*made)->empty());
    std::optional<Status> checked;
    prover->Check("", Role::kServer, AsBytes("transcript"), {},
                  [&](Status status) { checked = std::move(status); });
    ASSERT_TRUE(checked);
    EXPECT_TRUE(*checked);
    prover->Check("", Role::kServer, AsBytes("transcript"), AsBytes("x"),
                  [&](Status status) { checked = std::move(status); });
    ASSERT_FALSE(*checked);
    EXPECT_EQ(checked->error().code, Code::kAuthentication);
    EXPECT_EQ(checked->error().message, fmt::format("a proof of 1 bytes came where auth {} has none",
                                                    AuthMethodName(prover->method())));
  }
}

TEST(Psk, ComesFromTheSecretAlone) {
  const Result<JobSecret> secret = JobSecret::Generate();
  ASSERT_TRUE(secret);
  EXPECT_TRUE(MakeNoneProver()->psk().empty());
  const auto prover = MakeSecretProver(*secret);
  EXPECT_EQ(prover->method(), AuthMethod::kSecret);
  EXPECT_TRUE(EqualInConstantTime(prover->psk(), secret->Psk().view()));
}

}  // namespace
}  // namespace muster::auth
