// Membership on data connections: both ends of a fresh connection prove to each other that they have the
// group's key, without sending it. Three messages, which the caller carries:
//
//     connector -> acceptor   connector's nonce (and both ranks, in the caller's hello)
//     acceptor  -> connector  acceptor's nonce, AnswerChallenge(kAcceptor)
//     connector -> acceptor   AnswerChallenge(kConnector)
//
// Keyed BLAKE2b over group id, both ranks, both nonces and the side, so that an answer fits one connection
// and one direction. It proves the connecting rank; later data is protected by data_seal.h or not at
// all (README.md). Pure functions; nothing blocks.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "comm/auth/crypto.h"
#include "comm/base/bytes.h"
#include "comm/base/error.h"

namespace muster::auth {

using Challenge = std::array<uint8_t, 32>;
using MemberAnswer = std::array<uint8_t, 32>;

enum class MemberSide : uint8_t { kConnector = 1, kAcceptor = 2 };

struct MemberContext {
  std::array<uint8_t, 32> group_key{};  // muster::GroupKey
  std::string group_id;
  int connector_rank = 0;
  int acceptor_rank = 0;
};

// Both ranks as bytes: i32 connector, i32 acceptor.
Bytes EncodeRanks(const MemberContext& context);

// A fresh one for each connection.
Challenge MakeChallenge();

// The answer of `side`, given both nonces.
MemberAnswer AnswerChallenge(const MemberContext& context, MemberSide side, const Challenge& connector,
                             const Challenge& acceptor);

// Checks `answer` of `side`. Error: kAuthentication, names the rank without the key.
Status CheckAnswer(const MemberContext& context, MemberSide side, const Challenge& connector,
                   const Challenge& acceptor, ByteView answer);

}  // namespace muster::auth
