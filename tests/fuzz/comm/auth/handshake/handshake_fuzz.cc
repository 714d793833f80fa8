// The authenticated hello. Bytes of a stranger never give keys away; nor does an attacker between two honest
// ends. Behind the seal, which plain bytes never pass, a member may send anything and is still checked.
#include "tests/comm/auth/handshake/handshake_fuzz.h"

#include "comm/auth/handshake/handshake.h"
#include "comm/auth/handshake/handshake_messages.h"
#include "comm/auth/handshake/key_schedule.h"
#include "tests/comm/auth/handshake/handshake_pair.h"
#include "tests/comm/auth/ticket_prover.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/value_source.h"

namespace muster::fuzz {
namespace {

// One end is honest, the other is this file, which has the keys.
class Insider {
 public:
  explicit Insider(auth::Role role) : role_(role) {}

  // Runs the handshake with these as proof and verdict; true when the honest end was satisfied.
  bool Run(ByteView proof, ByteView verdict) {
    const auth::Role honest = role_ == auth::Role::kClient ? auth::Role::kServer : auth::Role::kClient;
    auth::Outcome outcome = auth::Outcome::kInProgress;
    auth::EphemeralKey key;
    auth::Handshake handshake(
        {honest, meeting_, "peer"}, prover_, key,
        [this](Bytes message) { sent_.push_back(std::move(message)); },
        [&outcome](const auth::HandshakeResult& result) { outcome = result.outcome; });
    handshake.Start();
    role_ == auth::Role::kClient ? AsClient(handshake, proof) : AsServer(handshake, proof, verdict);
    return outcome == auth::Outcome::kDone;
  }

 private:
  void AsClient(auth::Handshake& server, ByteView proof) {
    const Bytes hello = Encode(
        auth::HelloMessage{auth::kProtocolVersion, AuthMethod::kMunge, meeting_, {}, pair_.public_key});
    server.OnMessage(hello);
    Require(sent_.size() == 1 && sent_[0].size() > auth::kAnswerBytes, "an answer");
    const ByteView answer = ByteView(sent_[0]).first(auth::kAnswerBytes);
    Agree(auth::ParseAnswer(answer)->public_key, hello, answer);
    server.OnMessage(auth::EncodeSealed(auth::MessageType::kProof, channel_->sealer.Seal(proof)));
  }

  void AsServer(auth::Handshake& client, ByteView proof, ByteView verdict) {
    Require(sent_.size() == 1, "a hello");
    Bytes answer =
        Encode(auth::AnswerMessage{auth::kProtocolVersion, AuthMethod::kMunge, {}, pair_.public_key});
    Agree(auth::ParseHello(sent_[0])->public_key, sent_[0], answer);
    const Bytes own = OwnProof();
    const Bytes sealed = channel_->sealer.Seal(proof.empty() ? ByteView(own) : proof);
    answer.insert(answer.end(), sealed.begin(), sealed.end());
    client.OnMessage(answer);
    client.OnMessage(auth::EncodeSealed(auth::MessageType::kVerdict, channel_->sealer.Seal(verdict)));
  }

  void Agree(const auth::PublicKey& theirs, ByteView hello, ByteView answer) {
    transcript_ = auth::TranscriptHash(hello, answer);
    channel_ = auth::KeySchedule(*auth::AgreeOnKey(pair_.secret, theirs), {}, transcript_)
                   .HandshakeChannel(role_, "peer");
  }

  // A proof that holds, so that the verdict behind it is tested.
  Bytes OwnProof() {
    Bytes own;
    prover_.Make("", role_, transcript_, [&own](Result<Bytes> made) { own = *std::move(made); });
    return own;
  }

  const auth::Role role_;
  const auth::MeetingId meeting_ = auth::MeetingIdOf("job 7");
  const auth::KeyPair pair_ = auth::MakeKeyPair();
  auth::TicketProver prover_;
  std::vector<Bytes> sent_;
  auth::Digest transcript_{};
  std::optional<auth::SealedChannel> channel_;
};

void FuzzInsider(ValueSource& source) {
  const bool client = source.Flag();
  const ByteView first = source.Blob();
  const ByteView rest = source.Rest();
  const bool satisfied =
      Insider(client ? auth::Role::kClient : auth::Role::kServer).Run(client ? rest : first, rest);
  if (client || !first.empty()) return Require(!satisfied, "a wrong proof satisfies nobody");
  const auto verdict = auth::ParseVerdict(rest);
  Require(satisfied == (verdict && verdict->accepted), "the verdict decides");
}

// The carrier of the messages changes one of them.
void FuzzMiddle(ValueSource& source) {
  auth::TicketProver prover;
  auth::HandshakePair pair(prover, prover);
  const int changed = static_cast<int>(source.Below(4));
  bool real = false;
  pair.Run([&](int index, Bytes& message) {
    if (index != changed) return;
    const Bytes before = message;
    const ByteView cut = source.Blob();
    if (!cut.empty()) message.resize(std::min<size_t>(message.size(), cut[0] * 2));
    for (size_t changes = 1 + source.Below(4); changes > 0 && !message.empty(); --changes) {
      uint8_t& byte = message[source.Integer<uint16_t>() % message.size()];
      byte = static_cast<uint8_t>(byte ^ source.Byte());
    }
    const ByteView more = source.Blob();
    message.insert(message.end(), more.begin(), more.end());
    real = message != before;
  });
  // The sender of the last message cannot know whether it arrived.
  const auth::Outcome receiver = changed % 2 == 0 ? pair.server.outcome() : pair.client.outcome();
  Require(!real || receiver != auth::Outcome::kDone, "a change to message {} is noticed", changed);
  Require(real || receiver == auth::Outcome::kDone, "without a change both agree");
}

void CheckMessages(ByteView message) {
  if (!auth::TypeOf(message)) return;
  if (const auto hello = auth::ParseHello(message); hello && hello->version == auth::kProtocolVersion) {
    const auto again = auth::ParseHello(Encode(*hello));
    Require(
        again && again->nonce == hello->nonce && again->meeting == hello->meeting && again->mac == hello->mac,
        "a hello is read back");
  }
  auth::ParseAnswer(message);
  auth::ParseReject(message);
  auth::SealedPartOf(message);
  auth::ParseVerdict(message);
}

void FuzzOne(ByteView input) {
  ValueSource source(input);
  const uint8_t kind = source.Byte() % 4;
  if (kind == 0) return FuzzInsider(source);
  if (kind == 1) return FuzzMiddle(source);
  const ByteView rest = source.Rest();
  if (kind == 2) return CheckMessages(rest);
  Require(!auth::HandshakeFuzzOne(rest), "a stranger gets no keys");
}

std::vector<Bytes> Seeds() {
  std::vector<Bytes> seeds = {
      {0, 0, 0}, {0, 1, 1, 2, 3}, {0, 0, 2, 7, 7, 1}, {1, 0, 0, 0, 5, 0, 1}, {1, 3, 0, 0, 9, 0, 0xff}};
  const auto add = [&seeds](uint8_t kind, const Bytes& rest) {
    Bytes seed{kind};
    seed.insert(seed.end(), rest.begin(), rest.end());
    seeds.push_back(std::move(seed));
  };
  Bytes accepted{0, 0};
  const Bytes verdict = auth::EncodeVerdict({true, "", ""});
  accepted.insert(accepted.end(), verdict.begin(), verdict.end());
  add(0, accepted);
  const Bytes hello = Encode(auth::HelloMessage{auth::kProtocolVersion,
                                                AuthMethod::kNone,
                                                auth::MeetingIdOf("job 7"),
                                                {},
                                                auth::MakeKeyPair().public_key});
  const Bytes answer = Encode(
      auth::AnswerMessage{auth::kProtocolVersion, AuthMethod::kNone, {}, auth::MakeKeyPair().public_key});
  const Bytes reject =
      Encode(auth::RejectMessage{auth::kProtocolVersion, AuthMethod::kNone, auth::RejectReason::kBadProof});
  const Bytes proof = auth::EncodeSealed(auth::MessageType::kProof, Bytes(32, 1));
  const Bytes with_mac = Encode(auth::HelloMessage{auth::kProtocolVersion,
                                                   AuthMethod::kSecret,
                                                   auth::MeetingIdOf("job 7"),
                                                   {},
                                                   auth::MakeKeyPair().public_key,
                                                   auth::Digest{}});
  for (const Bytes& message : {hello, with_mac, answer, reject, proof}) add(2, message);
  for (uint8_t selector = 0; selector < 6; ++selector) {
    add(3, auth::FuzzInput(selector, {hello, proof}));
    add(3,
        auth::FuzzInput(selector, {answer, auth::EncodeSealed(auth::MessageType::kVerdict, Bytes(40, 2))}));
    add(3, auth::FuzzInput(selector, {reject}));
  }
  return seeds;
}

std::vector<std::string> Words() { return {std::string(auth::kHandshakeMagic), std::string("\x01\x00", 2)}; }

}  // namespace

FuzzTarget TheTarget() { return {FuzzOne, Seeds, Words}; }

}  // namespace muster::fuzz
