// The connecting side: hello -> answer with the server's proof -> own proof -> verdict.
#include <utility>

#include "comm/auth/handshake/handshake_machine.h"

namespace muster::auth {
namespace {

class ClientMachine final : public HandshakeMachine {
 public:
  using HandshakeMachine::HandshakeMachine;

 protected:
  void Begin() override {
    HelloMessage hello{kProtocolVersion, method(), params().meeting, {}, public_key()};
    RandomBytes(hello.nonce);
    if (!psk().empty()) hello.mac = HelloMac(psk(), Encode(hello));
    hello_ = Encode(hello);
    Expect(MessageType::kAnswer);
    Transmit(hello_);
  }

  void OnExpected(ByteView message) override {
    if (*TypeOf(message) == MessageType::kAnswer) return OnAnswer(message);
    OnVerdict(message);
  }

 private:
  void OnAnswer(ByteView message) {
    const std::optional<AnswerMessage> answer = ParseAnswer(message);
    if (!answer) return RejectAsMalformed(MessageType::kAnswer);
    if (answer->version != kProtocolVersion)
      return Reject(RejectReason::kOtherVersion, OtherVersion(answer->version));
    if (answer->method != method()) return Reject(RejectReason::kOtherMethod, OtherMethod(answer->method));
    const Digest hash = TranscriptHash(hello_, message.first(kAnswerBytes));
    if (!DeriveKeys(answer->public_key, hash)) return;
    const Result<Bytes> proof = sealed().opener.Open(message.subspan(kAnswerBytes));
    if (!proof) return Reject(RejectReason::kBadProof, OtherKeys());
    CheckProof(*proof, [this](const Status& status) { OnServerChecked(status); });
  }

  void OnServerChecked(const Status& status) {
    if (!status) {
      return Reject(
          status.error().hint == kSetTheClocks ? RejectReason::kOtherClock : RejectReason::kBadProof,
          {status.error().code,
           fmt::format("{} did not prove its identity: {}", peer(), status.error().message),
           status.error().hint});
    }
    MakeProof([this](const Bytes& proof) {
      Expect(MessageType::kVerdict);
      Transmit(EncodeSealed(MessageType::kProof, sealed().sealer.Seal(proof)));
    });
  }

  void OnVerdict(ByteView message) {
    const Result<Bytes> opened = sealed().opener.Open(SealedPartOf(message));
    if (!opened) return EndRejected(OtherKeys());
    const std::optional<VerdictMessage> verdict = ParseVerdict(*opened);
    if (!verdict) return RejectAsMalformed(MessageType::kVerdict);
    if (verdict->accepted) return Succeed();
    EndRejected({Code::kAuthentication, fmt::format("{} refused this rank: {}", peer(), verdict->message),
                 verdict->hint},
                /*peer_proven=*/true);
  }

  Bytes hello_;
};

}  // namespace

std::shared_ptr<HandshakeMachine> MakeClientMachine(Handshake::Params params, Prover& prover,
                                                    EphemeralKey& key, Handshake::Send send,
                                                    Handshake::Done done) {
  return std::make_shared<ClientMachine>(std::move(params), prover, key, std::move(send), std::move(done));
}

}  // namespace muster::auth
