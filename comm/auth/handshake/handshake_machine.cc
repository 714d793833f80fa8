#include "comm/auth/handshake/handshake_machine.h"

#include <algorithm>
#include <utility>

namespace muster::auth {

HandshakeMachine::HandshakeMachine(Handshake::Params params, Prover& prover, EphemeralKey& key,
                                   Handshake::Send send, Handshake::Done done)
    : params_(std::move(params)),
      prover_(prover),
      key_(key),
      send_(std::move(send)),
      done_(std::move(done)) {}

void HandshakeMachine::Start() {
  if (Status ready = CryptoReady(); !ready) return EndRejected(ready.error());
  Begin();
}

void HandshakeMachine::OnMessage(ByteView message) {
  if (over_) return;
  const std::optional<MessageType> type = TypeOf(message);
  if (!type) return EndAsStranger(fmt::format("{} is not a muster peer", peer()));
  if (message.size() > kMaxHandshakeMessage) return RejectAsMalformed(*type);
  if (*type == MessageType::kReject) return OnReject(message);
  if (type != expected_) {
    if (std::ranges::equal(message, last_sent_))
      return EndAsStranger(fmt::format("{} echoes what it receives", peer()));
    return Reject(RejectReason::kMalformed,
                  {Code::kAuthentication,
                   fmt::format("{} sent a handshake {} out of turn", peer(), MessageTypeName(*type))});
  }
  Expect(std::nullopt);
  OnExpected(message);
}

void HandshakeMachine::Transmit(Bytes message) {
  if (over_) return;
  last_sent_ = message;
  send_(std::move(message));
}

bool HandshakeMachine::DeriveKeys(const PublicKey& peer_key, const Digest& transcript) {
  const std::optional<SecretKey> agreed = AgreeOnKey(key_.Get().secret, peer_key);
  if (!agreed) {
    Reject(RejectReason::kMalformed,
           {Code::kAuthentication, fmt::format("{} sent an invalid public key", peer())});
    return false;
  }
  transcript_ = transcript;
  keys_.emplace(*agreed, prover_.psk(), transcript);
  sealed_.emplace(keys_->HandshakeChannel(params_.role, peer()));
  return true;
}

void HandshakeMachine::MakeProof(std::function<void(Bytes)> next) {
  proving_ = true;
  const auto keep = shared_from_this();
  Prover::Pending pending = prover_.Make(
      params_.source, params_.role, transcript_,
      [weak = weak_from_this(), next = std::move(next)](Result<Bytes> proof) {
        const auto self = weak.lock();
        if (!self || self->over_) return;
        self->proving_ = false;
        if (proof) return next(*std::move(proof));
        self->Reject(RejectReason::kNoProof, {proof.error().code,
                                              fmt::format("this rank cannot prove its identity to {}: {}",
                                                          self->peer(), proof.error().message),
                                              proof.error().hint});
      });
  if (pending && !over_) pending_ = std::move(pending);
}

void HandshakeMachine::CheckProof(ByteView proof, std::function<void(Status)> next) {
  if (proof.size() > kMaxProofBytes) {
    return next(
        Fail(Code::kAuthentication, "its proof has {} bytes, more than {}", proof.size(), kMaxProofBytes));
  }
  const Role peer_role = params_.role == Role::kClient ? Role::kServer : Role::kClient;
  proving_ = true;
  const auto keep = shared_from_this();
  Prover::Pending pending = prover_.Check(params_.source, peer_role, transcript_, proof,
                                          [weak = weak_from_this(), next = std::move(next)](Status status) {
                                            const auto self = weak.lock();
                                            if (!self || self->over_) return;
                                            self->proving_ = false;
                                            next(std::move(status));
                                          });
  // Null if it was answered meanwhile: the next question may be under way already.
  if (pending && !over_) pending_ = std::move(pending);
}

void HandshakeMachine::Succeed() {
  HandshakeResult result;
  result.outcome = Outcome::kDone;
  result.peer_proven = true;
  result.channel.emplace(keys_->TrafficChannel(params_.role, peer()));
  Finish(std::move(result));
}

void HandshakeMachine::EndAsStranger(std::string reason) {
  HandshakeResult result;
  result.outcome = Outcome::kStranger;
  result.reason = std::move(reason);
  Finish(std::move(result));
}

void HandshakeMachine::EndRejected(Error error, bool peer_proven) {
  HandshakeResult result;
  result.outcome = Outcome::kRejected;
  result.error = std::move(error);
  result.peer_proven = peer_proven;
  Finish(std::move(result));
}

void HandshakeMachine::Reject(RejectReason reason, Error error) {
  Transmit(Encode(RejectMessage{kProtocolVersion, method(), reason}));
  EndRejected(std::move(error));
}

void HandshakeMachine::RejectAsMalformed(MessageType type) {
  Reject(RejectReason::kMalformed, {Code::kAuthentication, fmt::format("{} sent a malformed handshake {}",
                                                                       peer(), MessageTypeName(type))});
}

Error HandshakeMachine::OtherVersion(uint16_t theirs) const {
  return {Code::kAuthentication,
          fmt::format("{} speaks muster protocol {}, {} {}", peer(), theirs, self(), kProtocolVersion),
          "install the same version of muster on every node"};
}

Error HandshakeMachine::OtherMethod(AuthMethod theirs) const {
  return {
      Code::kAuthentication,
      fmt::format("{} uses auth {}, {} {}", peer(), AuthMethodName(theirs), self(), AuthMethodName(method())),
      "set rendezvous.auth to the same method on every rank; auto takes munge only on nodes that have its "
      "socket"};
}

Error HandshakeMachine::OtherKeys() const {
  if (psk().empty()) {
    return {Code::kAuthentication, fmt::format("the handshake with {} was changed on the way", peer())};
  }
  return {Code::kAuthentication,
          fmt::format("{} has another job secret than {}, or the handshake was changed on the way", peer(),
                      self()),
          "export MUSTER_SECRET once in the batch script, before srun: it must be the same on every rank"};
}

void HandshakeMachine::OnReject(ByteView message) {
  const std::optional<RejectMessage> reject = ParseReject(message);
  const auto refused = [this](std::string_view what, std::string hint = {}) {
    EndRejected({Code::kAuthentication, fmt::format("{} {}", peer(), what), std::move(hint)});
  };
  if (!reject) return refused("sent a malformed handshake reject");
  switch (reject->reason) {
    case RejectReason::kWrongMeeting:
      return EndAsStranger(fmt::format("{} belongs to another launch", peer()));
    case RejectReason::kOtherVersion:
      return EndRejected(OtherVersion(reject->version));
    case RejectReason::kOtherMethod:
      return EndRejected(OtherMethod(reject->method));
    case RejectReason::kBadProof:
      // To a hello it means the mac; to another message of auth munge the credential.
      if (!psk().empty() && (method() == AuthMethod::kSecret || expected_ == MessageType::kAnswer)) {
        return EndRejected(OtherKeys());
      }
      return refused(fmt::format("does not accept {}'s proof of identity", self()), "its log has the reason");
    case RejectReason::kOtherClock:
      return refused(fmt::format("does not accept {}'s proof of identity: their clocks are apart", self()),
                     kSetTheClocks);
    case RejectReason::kNoProof:
      return refused(fmt::format("cannot prove its identity by auth {}", AuthMethodName(method())),
                     "its log has the reason");
    case RejectReason::kMalformed:
      return refused(fmt::format("could not read what {} sent", self()));
  }
  refused("rejected this rank for a reason that this version does not know");
}

void HandshakeMachine::Finish(HandshakeResult result) {
  if (over_) return;
  over_ = true;
  pending_.reset();
  // The caller's closures may own what owns this machine.
  const Handshake::Done done = std::exchange(done_, nullptr);
  done(std::move(result));
}

}  // namespace muster::auth
