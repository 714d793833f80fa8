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

  void Make(Role role, ByteView transcript_hash, std::function<void(Result<Bytes>)> done) override {
    Submit(nullptr, MakeJob(role, transcript_hash, std::move(done)));
  }
  void Check(Role peer_role, ByteView transcript_hash, ByteView proof,
             std::function<void(Status)> done) override {
    Submit(nullptr, CheckJob(peer_role, transcript_hash, proof, std::move(done)));
  }
  Pending MakeFor(const std::string& source, Role role, ByteView transcript_hash,
                  std::function<void(Result<Bytes>)> done) override {
    return Submit(&source, MakeJob(role, transcript_hash, std::move(done)));
  }
  Pending CheckFor(const std::string& source, Role peer_role, ByteView transcript_hash, ByteView proof,
                   std::function<void(Status)> done) override {
    return Submit(&source, CheckJob(peer_role, transcript_hash, proof, std::move(done)));
  }

 private:
  struct Job {
    std::function<void()> blocking;
    std::function<void()> done;
  };

  Job MakeJob(Role role, ByteView transcript_hash, std::function<void(Result<Bytes>)> done) const {
    const auto result = std::make_shared<Result<Bytes>>(NotRun());
    return {[result, options = options_, payload = PayloadOf(role, transcript_hash)] {
              *result = MakeCredential(*options, payload);
            },
            [result, done = std::move(done)] { done(std::move(*result)); }};
  }

  Job CheckJob(Role peer_role, ByteView transcript_hash, ByteView proof,
               std::function<void(Status)> done) const {
    const auto result = std::make_shared<Status>(NotRun());
    return {[result, options = options_, payload = PayloadOf(peer_role, transcript_hash),
             credential = Bytes(proof.begin(), proof.end())] {
              *result = CheckCredential(*options, payload, credential);
            },
            [result, done = std::move(done)] { done(std::move(*result)); }};
  }

  // Without a source it cannot be withdrawn.
  Pending Submit(const std::string* source, Job job) {
    if (source != nullptr) return worker_.RunFor(*source, std::move(job.blocking), std::move(job.done));
    worker_.Run(std::move(job.blocking), std::move(job.done));
    return nullptr;
  }

  std::shared_ptr<const MungeProverOptions> options_;
  BlockingWorker& worker_;
};

}  // namespace

std::unique_ptr<Prover> MakeMungeProver(MungeProverOptions options, BlockingWorker& worker) {
  return std::make_unique<MungeProver>(std::move(options), worker);
}

}  // namespace muster::auth
