#include "comm/rendezvous/liveness/owner_inquiry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/comm/rendezvous/test_group.h"

namespace muster::rendezvous {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAreArray;

const OwnerQuestion kQuestion{0, "10.1.2.3", 40000, "10.1.2.1", 61000, 1};

OwnerQuestion About(int node) {
  OwnerQuestion question = kQuestion;
  question.node = node;
  return question;
}

TEST(OwnerMessages, AreReadBack) {
  const OwnerQuestion question{7, "10.1.2.3", 40000, "fd00::1", 61000, 5};
  EXPECT_EQ(Decode<OwnerQuestion>(Encode(question)), Result<OwnerQuestion>(question));
  const OwnerAnswer answer{8, OwnerKind::kProgram, 1000, 3, 2};
  EXPECT_EQ(Decode<OwnerAnswer>(Encode(answer)), Result<OwnerAnswer>(answer));
}

TEST(OwnerMessages, AreReadStrictly) {
  Bytes cut = Encode(kQuestion);
  cut.pop_back();
  ASSERT_FALSE(Decode<OwnerQuestion>(cut));
  EXPECT_EQ(Decode<OwnerQuestion>(cut).error(),
            (Error{Code::kInternal, "malformed question for an owner: it ends too early", ""}));
  Bytes wrong = Encode(OwnerAnswer{8, OwnerKind::kProgram, 1000, 3, 2});
  wrong[9] = 4;  // a kind that there is not
  ASSERT_FALSE(Decode<OwnerAnswer>(wrong));
  EXPECT_EQ(Decode<OwnerAnswer>(wrong).error(),
            (Error{Code::kInternal, "malformed answer about an owner: it ends too early", ""}));
}

constexpr std::array<int, 5> kNodeOf = {0, 0, 1, 1, 2};

// Rank 0 is the root, on a with rank 1; rank 2 leads b with rank 3; rank 4 is alone on c.
class OwnerInquiryTest : public testing::Test {
 protected:
  void Form(const std::vector<std::string>& nodes = {"a", "a", "b", "b", "c"}) {
    group = std::make_unique<TestGroup>(loop, nodes);
    ASSERT_TRUE(group->AllFormed());
    for (size_t rank = 0; rank < group->size(); ++rank) {
      (*group)[rank].whose = [this, rank](const OwnerQuestion& question) {
        asked.push_back(static_cast<int>(rank));
        questions.push_back(question);
        const auto found = says.find(static_cast<int>(rank));
        return found == says.end() ? OwnerAnswer{} : found->second;
      };
    }
  }
  // The answer to rank `asker`; the default if it gets none.
  OwnerAnswer Ask(size_t asker, const OwnerQuestion& question = kQuestion) {
    std::optional<OwnerAnswer> answer;
    (*group)[asker].plane().inquiry().Ask(question, [&](const OwnerAnswer& told) { answer = told; });
    EXPECT_TRUE(loop.Until([&] { return answer.has_value(); }));
    return answer.value_or(OwnerAnswer{});
  }

  net::TestLoop loop;
  std::unique_ptr<TestGroup> group;
  std::map<int, OwnerAnswer> says;
  std::vector<int> asked;
  std::vector<OwnerQuestion> questions;
};

TEST_F(OwnerInquiryTest, WhoeverKnowsIsHeard) {
  Form();
  for (int rank = 0; rank < 5; ++rank) {
    says = {{rank, {0, OwnerKind::kProgram, 1000, rank, 6}}};
    const OwnerAnswer answer = Ask(0, About(kNodeOf[static_cast<size_t>(rank)]));
    EXPECT_EQ(answer.kind, OwnerKind::kProgram);
    EXPECT_EQ(answer.rank, rank);
    EXPECT_EQ(answer.generation, 6u);
  }
  for (const OwnerQuestion& question : questions) {
    EXPECT_EQ(question.client_host, "10.1.2.3");
    EXPECT_EQ(question.server_port, 61000);
  }
}

TEST_F(OwnerInquiryTest, OneNodeIsAsked) {
  Form();
  for (const auto& [node, ranks] : std::map<int, std::vector<int>>{{0, {0, 1}}, {1, {2, 3}}, {2, {4}}}) {
    asked.clear();
    EXPECT_EQ(Ask(0, About(node)).kind, OwnerKind::kNoOwner);
    EXPECT_THAT(asked, UnorderedElementsAreArray(ranks));
  }
}

TEST_F(OwnerInquiryTest, NobodyIsAskedAboutNobodysAddress) {
  Form();
  for (const size_t asker : {size_t{0}, size_t{3}}) {
    for (const int node : {-1, 3, 1000}) EXPECT_EQ(Ask(asker, About(node)).kind, OwnerKind::kNoOwner);
  }
  EXPECT_THAT(asked, IsEmpty());
}

TEST_F(OwnerInquiryTest, TheAnswerThatSaysMostIsTaken) {
  Form();
  says = {{2, {0, OwnerKind::kUser, 1000, -1, 0}}};
  EXPECT_EQ(Ask(0).kind, OwnerKind::kUser);
  says[3] = {0, OwnerKind::kProgram, 1000, 3, 0};
  EXPECT_EQ(Ask(0).rank, 3);
  says = {{3, {0, OwnerKind::kStranger, 65534, -1, 0}}};
  const OwnerAnswer stranger = Ask(0);
  EXPECT_EQ(stranger.kind, OwnerKind::kStranger);
  EXPECT_EQ(stranger.uid, 65534u);
}

TEST_F(OwnerInquiryTest, TheRootsOwnKnowledgeNeedsNobodyElse) {
  Form();
  says = {{0, {0, OwnerKind::kProgram, 1000, 0, 1}}};
  EXPECT_EQ(Ask(0, About(0)).rank, 0);
  EXPECT_THAT(asked, ElementsAre(0));
}

// The store need not be served by the root.
TEST_F(OwnerInquiryTest, AFollowerAndALeaderMayAsk) {
  Form();
  for (const size_t asker : {size_t{1}, size_t{3}, size_t{2}, size_t{4}}) {
    for (int rank = 0; rank < 5; ++rank) {
      says = {{rank, {0, OwnerKind::kProgram, 1000, rank, 2}}};
      EXPECT_EQ(Ask(asker, About(kNodeOf[static_cast<size_t>(rank)])).rank, rank) << asker;
    }
    says.clear();
    EXPECT_EQ(Ask(asker).kind, OwnerKind::kNoOwner) << asker;
  }
}

TEST_F(OwnerInquiryTest, ManyAtOnceAreKeptApart) {
  Form();
  for (int rank = 0; rank < 5; ++rank) {
    (*group)[static_cast<size_t>(rank)].whose = [rank](const OwnerQuestion& question) {
      const bool own = question.client_port % 5 == rank;
      return OwnerAnswer{question.id, own ? OwnerKind::kProgram : OwnerKind::kNoOwner, 1000, rank,
                         question.client_port};
    };
  }
  std::vector<uint16_t> right;
  for (uint16_t port = 1; port <= 100; ++port) {
    OwnerQuestion question = kQuestion;
    question.client_port = port;
    question.node = kNodeOf[port % 5];
    (*group)[3].plane().inquiry().Ask(question, [&right, port](const OwnerAnswer& told) {
      if (told.rank == port % 5 && told.generation == port) right.push_back(port);
    });
  }
  EXPECT_TRUE(loop.Until([&] { return right.size() == 100; }));
}

TEST_F(OwnerInquiryTest, WhoHasGoneAnswersNothingMore) {
  Form({"a", "b", "b"});
  // Rank 2 is killed by the question itself.
  (*group)[2].whose = [this](const OwnerQuestion&) {
    loop->Post([this] { group->Kill(2); });
    return OwnerAnswer{};
  };
  EXPECT_EQ(Ask(0).kind, OwnerKind::kNoOwner);
}

// A supervisor that is stopped for a few seconds: its program's connection is not without an owner.
TEST_F(OwnerInquiryTest, AnAnswerWithoutALateProcessIsNotComplete) {
  auto children = std::make_unique<ChildLinks>();
  auto late = net::SocketPair();
  const ChildLinks::Source source =
      children->Add(std::make_unique<net::FrameStream>(*loop, std::move(late.first), 1 << 20), "b", false);
  children->Find(source)->ranks = {1};
  TreeLinks links(*loop, nullptr, std::move(children));
  const Roster roster{"", {{"a", {}}, {"b", {}}}, {{0, 0, 0, {}}, {1, 0, 0, {}}}};
  OwnerInquiry inquiry({links, roster, 0, {}, std::chrono::milliseconds(1)});
  std::vector<OwnerAnswer> answers;
  const auto take = [&](const OwnerAnswer& answer) { answers.push_back(answer); };
  inquiry.Ask(About(1), take);
  ASSERT_TRUE(loop.Until([&] { return answers.size() == 1; }));
  EXPECT_FALSE(answers[0].complete);
  inquiry.Ask(About(1), take);
  inquiry.Forget(source);
  ASSERT_EQ(answers.size(), 2u) << "it is lost";
  EXPECT_TRUE(answers[1].complete);
}

TEST_F(OwnerInquiryTest, NobodyIsAskedWhoHasLeft) {
  Form({"a", "b", "c"});
  (*group)[2].plane().leaving().Leave();
  ASSERT_TRUE(loop.Until([&] { return (*group)[2].released == 1; }));
  group->Kill(2);
  EXPECT_EQ(Ask(0, About(2)).kind, OwnerKind::kNoOwner);
  EXPECT_THAT(asked, IsEmpty());
}

}  // namespace
}  // namespace muster::rendezvous
