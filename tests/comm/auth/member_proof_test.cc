#include "comm/auth/member_proof.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::auth {
namespace {

class MemberProofTest : public testing::Test {
 protected:
  MemberProofTest() : connector(MakeChallenge()), acceptor(MakeChallenge()) {
    context.group_key.fill(7);
    context.group_id = "0123456789abcdef0123456789abcdef";
    context.connector_rank = 3;
    context.acceptor_rank = 5;
  }

  MemberContext context;
  Challenge connector;
  Challenge acceptor;
};

TEST_F(MemberProofTest, BothSidesTakeTheRightAnswer) {
  for (const MemberSide side : {MemberSide::kConnector, MemberSide::kAcceptor}) {
    EXPECT_TRUE(
        CheckAnswer(context, side, connector, acceptor, AnswerChallenge(context, side, connector, acceptor)));
  }
}

TEST_F(MemberProofTest, NamesWhoDidNotKnowTheKey) {
  MemberContext stranger = context;
  stranger.group_key[31] ^= 1;
  const Status connecting =
      CheckAnswer(context, MemberSide::kConnector, connector, acceptor,
                  AnswerChallenge(stranger, MemberSide::kConnector, connector, acceptor));
  ASSERT_FALSE(connecting);
  EXPECT_EQ(connecting.error().code, Code::kAuthentication);
  EXPECT_EQ(connecting.error().message,
            "the process that connected as rank 3 does not have the key of this group");
  const Status answering = CheckAnswer(context, MemberSide::kAcceptor, connector, acceptor,
                                       AnswerChallenge(stranger, MemberSide::kAcceptor, connector, acceptor));
  ASSERT_FALSE(answering);
  EXPECT_EQ(answering.error().message,
            "the process that answered as rank 5 does not have the key of this group");
}

TEST_F(MemberProofTest, AnAnswerFitsOneConnectionOneDirectionAndOneGroup) {
  const MemberSide side = MemberSide::kAcceptor;
  const MemberAnswer answer = AnswerChallenge(context, side, connector, acceptor);
  EXPECT_FALSE(CheckAnswer(context, MemberSide::kConnector, connector, acceptor, answer));
  EXPECT_FALSE(CheckAnswer(context, side, acceptor, connector, answer));
  EXPECT_FALSE(CheckAnswer(context, side, MakeChallenge(), acceptor, answer));
  EXPECT_FALSE(CheckAnswer(context, side, connector, MakeChallenge(), answer));
  MemberContext other = context;
  other.connector_rank = 4;
  EXPECT_FALSE(CheckAnswer(other, side, connector, acceptor, answer));
  other = context;
  other.acceptor_rank = 4;
  EXPECT_FALSE(CheckAnswer(other, side, connector, acceptor, answer));
  other = context;
  std::swap(other.connector_rank, other.acceptor_rank);
  EXPECT_FALSE(CheckAnswer(other, side, connector, acceptor, answer));
  other = context;
  other.group_id.back() = '0';
  EXPECT_FALSE(CheckAnswer(other, side, connector, acceptor, answer));
}

TEST_F(MemberProofTest, NoOtherBytesAreAnAnswer) {
  const MemberAnswer answer = AnswerChallenge(context, MemberSide::kAcceptor, connector, acceptor);
  for (size_t bit = 0; bit < 8 * answer.size(); ++bit) {
    MemberAnswer flipped = answer;
    flipped[bit / 8] = static_cast<uint8_t>(flipped[bit / 8] ^ (1U << (bit % 8)));
    EXPECT_FALSE(CheckAnswer(context, MemberSide::kAcceptor, connector, acceptor, flipped)) << bit;
  }
  for (size_t length = 0; length < answer.size(); ++length) {
    EXPECT_FALSE(
        CheckAnswer(context, MemberSide::kAcceptor, connector, acceptor, ByteView(answer).first(length)));
  }
  Bytes longer(answer.begin(), answer.end());
  longer.push_back(0);
  EXPECT_FALSE(CheckAnswer(context, MemberSide::kAcceptor, connector, acceptor, longer));
}

TEST_F(MemberProofTest, ChallengesDiffer) { EXPECT_NE(MakeChallenge(), MakeChallenge()); }

}  // namespace
}  // namespace muster::auth
