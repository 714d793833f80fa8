#include "comm/auth/member_proof.h"

#include "comm/base/fields.h"

namespace muster::auth {

Challenge MakeChallenge() {
  Challenge challenge{};
  RandomBytes(challenge);
  return challenge;
}

Bytes EncodeRanks(const MemberContext& context) {
  return EncodeFields(context.connector_rank, context.acceptor_rank);
}

MemberAnswer AnswerChallenge(const MemberContext& context, MemberSide side, const Challenge& connector,
                             const Challenge& acceptor) {
  const Bytes ends = EncodeFields(side, context.connector_rank, context.acceptor_rank);
  return Blake2b(context.group_key,
                 {AsBytes("muster member"), AsBytes(context.group_id), ends, connector, acceptor});
}

Status CheckAnswer(const MemberContext& context, MemberSide side, const Challenge& connector,
                   const Challenge& acceptor, ByteView answer) {
  if (EqualInConstantTime(answer, AnswerChallenge(context, side, connector, acceptor))) return {};
  const bool connecting = side == MemberSide::kConnector;
  return Fail(Code::kAuthentication, "the process that {} as rank {} does not have the key of this group",
              connecting ? "connected" : "answered",
              connecting ? context.connector_rank : context.acceptor_rank);
}

}  // namespace muster::auth
