#include "comm/auth/proof.h"

#include <array>
#include <optional>
#include <utility>

namespace muster::auth {
namespace {

// For methods whose whole proof is that both sides derive the same keys.
class EmptyProver final : public Prover {
 public:
  EmptyProver(AuthMethod method, std::optional<SecretKey> psk) : method_(method), psk_(std::move(psk)) {}

  AuthMethod method() const override { return method_; }
  ByteView psk() const override { return psk_ ? psk_->view() : ByteView(); }

  Pending Make(const std::string&, Role, ByteView, std::function<void(Result<Bytes>)> done) override {
    done(Bytes());
    return nullptr;
  }

  Pending Check(const std::string&, Role, ByteView, ByteView proof,
                std::function<void(Status)> done) override {
    done(proof.empty() ? Status()
                       : Fail(Code::kAuthentication, "a proof of {} bytes came where auth {} has none",
                              proof.size(), AuthMethodName(method_)));
    return nullptr;
  }

 private:
  AuthMethod method_;
  std::optional<SecretKey> psk_;
};

}  // namespace

std::string_view AuthMethodName(AuthMethod method) {
  constexpr std::array<std::string_view, 4> kNames = {"auto", "munge", "secret", "none"};
  const auto at = static_cast<size_t>(method);
  return at < kNames.size() ? kNames.at(at) : "unknown";  // a peer of another release sent it
}

std::unique_ptr<Prover> MakeNoneProver() {
  return std::make_unique<EmptyProver>(AuthMethod::kNone, std::nullopt);
}

std::unique_ptr<Prover> MakeSecretProver(const JobSecret& secret) {
  return std::make_unique<EmptyProver>(AuthMethod::kSecret, secret.Psk());
}

}  // namespace muster::auth
