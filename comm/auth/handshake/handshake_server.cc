// The listening side: hello -> answer with own proof -> the client's proof -> verdict.
#include <utility>

#include "comm/auth/handshake/handshake_machine.h"

namespace muster::auth {
namespace {

class ServerMachine final : public HandshakeMachine {
 public:
  using HandshakeMachine::HandshakeMachine;

 protected:
  void Begin() override { Expect(MessageType::kHello); }

  void OnExpected(ByteView message) override {
    if (*TypeOf(message) == MessageType::kHello) return OnHello(message);
    OnProof(message);
  }

 private:
  void OnHello(ByteView message) {
    const std::optional<HelloMessage> hello = ParseHello(message);
    if (!hello) return RejectAsMalformed(MessageType::kHello);
    // Before all other checks: another launch's version or method does not matter here.
    if (!EqualInConstantTime(hello->meeting, params().meeting)) {
      Transmit(Encode(RejectMessage{kProtocolVersion, method(), RejectReason::kWrongMeeting}));
      return EndAsStranger(fmt::format("{} belongs to another launch", peer()));
    }
    if (hello->version != kProtocolVersion)
      return Reject(RejectReason::kOtherVersion, OtherVersion(hello->version));
    if (hello->method != method()) return Reject(RejectReason::kOtherMethod, OtherMethod(hello->method));
    if (!KnowsTheSecret(message, *hello)) return Reject(RejectReason::kBadProof, OtherKeys());
    Answer(message, *hello);
  }

  // A recorded hello passes here; it fails later, at the proof.
  bool KnowsTheSecret(ByteView message, const HelloMessage& hello) const {
    if (psk().empty()) return true;
    return hello.mac && EqualInConstantTime(*hello.mac, HelloMac(psk(), message));
  }

  void Answer(ByteView message, const HelloMessage& hello) {
    AnswerMessage answer{kProtocolVersion, method(), {}, public_key()};
    RandomBytes(answer.nonce);
    Bytes encoded = Encode(answer);
    if (!DeriveKeys(hello.public_key, TranscriptHash(message, encoded))) return;
    MakeProof([this, encoded = std::move(encoded)](const Bytes& proof) {
      Bytes whole = encoded;
      const Bytes sealed_proof = sealed().sealer.Seal(proof);
      whole.insert(whole.end(), sealed_proof.begin(), sealed_proof.end());
      Expect(MessageType::kProof);
      Transmit(std::move(whole));
    });
  }

  void OnProof(ByteView message) {
    const Result<Bytes> proof = sealed().opener.Open(SealedPartOf(message));
    if (!proof) return Reject(RejectReason::kBadProof, OtherKeys());
    CheckProof(*proof, [this](const Status& status) { OnClientChecked(status); });
  }

  void OnClientChecked(const Status& status) {
    if (status) {
      SendVerdict({true, {}, {}});
      return Succeed();
    }
    SendVerdict({false, status.error().message, status.error().hint});
    EndRejected({status.error().code,
                 fmt::format("{} did not prove its identity: {}", peer(), status.error().message),
                 status.error().hint});
  }

  void SendVerdict(const VerdictMessage& verdict) {
    Transmit(EncodeSealed(MessageType::kVerdict, sealed().sealer.Seal(EncodeVerdict(verdict))));
  }
};

}  // namespace

std::shared_ptr<HandshakeMachine> MakeServerMachine(Handshake::Params params, Prover& prover,
                                                    EphemeralKey& key, Handshake::Send send,
                                                    Handshake::Done done) {
  return std::make_shared<ServerMachine>(std::move(params), prover, key, std::move(send), std::move(done));
}

}  // namespace muster::auth
