#include "comm/auth/munge_prover.h"

#include <utility>

#include "comm/auth/crypto.h"
#include "comm/base/fields.h"

namespace muster::auth {
namespace {

Bytes PayloadOf(Role role, ByteView transcript_hash) {
  return EncodeFields(std::string_view("muster handshake"), role, transcript_hash);
}

Result<Bytes> MakeCredential(const MungeProverOptions& options, ByteView payload) {
  MUSTER_TRY(const MungeApi api, options.load());
  return Munge(api, options.socket).Encode(payload, options.uid);
}

Status CheckCredential(const MungeProverOptions& options, ByteView payload, ByteView credential) {
  MUSTER_TRY(const MungeApi api, options.load());
  MUSTER_TRY(const MungeCredential decoded, Munge(api, options.socket).Decode(credential));
  if (decoded.uid != options.uid) {
    return WithHint(Fail(Code::kAuthentication, "by its munge credential it runs as uid {}, this rank as {}",
                         decoded.uid, options.uid),
                    "start all ranks as one user");
  }
  // A credential that other users can read may have been copied from anywhere.
  if (decoded.only_for != options.uid) {
    return Fail(Code::kAuthentication, "its munge credential is not restricted to uid {}", options.uid);
  }
  if (!EqualInConstantTime(decoded.payload, payload)) {
    return Fail(Code::kAuthentication, "its munge credential was made for another handshake");
  }
  return {};
}

// The answer until the worker has computed it.
tl::unexpected<Error> NotRun() { return Fail(Code::kInternal, "munge was not used"); }

class MungeProver final : public Prover {
 public:
  MungeProver(MungeProverOptions options, BlockingWorker& worker)
      : options_(std::make_shared<const MungeProverOptions>(std::move(options))), worker_(worker) {}

  AuthMethod method() const override { return AuthMethod::kMunge; }
  ByteView psk() const override { return options_->psk ? options_->psk->view() : ByteView(); }

  Pending Make(const std::string& source, Role role, ByteView transcript_hash,
               std::function<void(Result<Bytes>)> done) override {
    const auto result = std::make_shared<Result<Bytes>>(NotRun());
    return worker_.RunFor(
        &source,
        [result, options = options_, payload = PayloadOf(role, transcript_hash)] {
          *result = MakeCredential(*options, payload);
        },
        [result, done = std::move(done)] { done(std::move(*result)); });
  }

  Pending Check(const std::string& source, Role peer_role, ByteView transcript_hash, ByteView proof,
                std::function<void(Status)> done) override {
    const auto result = std::make_shared<Status>(NotRun());
    return worker_.RunFor(
        &source,
        [result, options = options_, payload = PayloadOf(peer_role, transcript_hash),
         credential = Bytes(proof.begin(), proof.end())] {
          *result = CheckCredential(*options, payload, credential);
        },
        [result, done = std::move(done)] { done(std::move(*result)); });
  }

 private:
  std::shared_ptr<const MungeProverOptions> options_;
  BlockingWorker& worker_;
};

}  // namespace

std::unique_ptr<Prover> MakeMungeProver(MungeProverOptions options, BlockingWorker& worker) {
  return std::make_unique<MungeProver>(std::move(options), worker);
}

}  // namespace muster::auth
