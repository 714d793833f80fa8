#include "comm/auth/member_proof.h"

#include "comm/base/wire.h"

namespace muster::auth {

Challenge MakeChallenge() {
  Challenge challenge{};
  RandomBytes(challenge);
  return challenge;
}

Bytes EncodeRanks(const MemberContext& context) {
  WireWriter ends;
  ends.I32(context.connector_rank);
  ends.I32(context.acceptor_rank);
  return ends.Take();
}

MemberAnswer AnswerChallenge(const MemberContext& context, MemberSide side, const Challenge& connector,
                             const Challenge& acceptor) {
  WireWriter ends;
  ends.U8(static_cast<uint8_t>(side));
  ends.I32(context.connector_rank);
  ends.I32(context.acceptor_rank);
  return Blake2b(context.group_key,
                 {AsBytes("muster member"), AsBytes(context.group_id), ends.bytes(), connector, acceptor});
}

Status CheckAnswer(const MemberContext& context, MemberSide side, const Challenge& connector,
                   const Challenge& acceptor, ByteView answer) {
  if (EqualInConstantTime(answer, AnswerChallenge(context, side, connector, acceptor))) return {};
  const bool connecting = side == MemberSide::kConnector;
  return Fail(Code::kAuthentication, "what {} as rank {} does not know the key of this group",
              connecting ? "connected" : "answered",
              connecting ? context.connector_rank : context.acceptor_rank);
}

}  // namespace muster::auth
