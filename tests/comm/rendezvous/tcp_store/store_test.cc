#include "comm/rendezvous/tcp_store/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/comm/base/print_error.h"
#include "tests/comm/rendezvous/tcp_store/any_answer.h"

namespace muster::tcp_store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr ClientId kOne = 1;
constexpr ClientId kTwo = 2;
constexpr ClientId kThree = 3;

struct StoreTest : testing::Test {
  struct Reply {
    bool answered = false;
    int64_t number = 0;
    std::vector<std::string> texts;
  };

  Reply Ask(const Request& request, ClientId client = kOne) {
    Bytes bytes;
    woken.clear();
    const Status applied = store.Apply(client, request, bytes, woken);
    EXPECT_TRUE(applied) << applied.error().message;
    if (bytes.empty()) return {};
    const auto answer = DecodeAnyAnswer(request, bytes);
    EXPECT_TRUE(answer) << static_cast<int>(request.operation);
    if (!answer) return {};
    return {true, answer->number, answer->texts};
  }
  std::string Get(std::string_view key) { return Ask({Operation::kGet, {key}}).texts.at(0); }
  void Set(std::string_view key, std::string_view value) { Ask({Operation::kSet, {key, value}}); }
  int64_t Number(Operation operation, std::string_view key = "", int64_t number = 0) {
    return Ask({operation, {key}, number}).number;
  }
  // Whether it has to wait.
  bool Waits(ClientId client, std::vector<std::string_view> keys) {
    return !Ask({Operation::kWait, std::move(keys)}, client).answered;
  }
  Error Refused(const Request& request) {
    Bytes bytes;
    const Status applied = store.Apply(kOne, request, bytes, woken);
    EXPECT_FALSE(applied);
    return applied ? Error() : applied.error();
  }

  Budget memory{"the store's keys and values", 10000};
  Store store{Limits{.message = 1000}, memory};
  std::vector<ClientId> woken;
};

TEST_F(StoreTest, SetAndGet) {
  Set("/a", "1");
  Set("/a", "2");
  EXPECT_EQ(Get("/a"), "2");
  EXPECT_EQ(Get("/missing"), "");
  Ask({Operation::kMultiSet, {"/b", "3", "/c", "4"}});
  EXPECT_THAT(Ask({Operation::kMultiGet, {"/c", "/missing", "/b"}}).texts, ElementsAre("4", "", "3"));
  EXPECT_EQ(Ask({Operation::kNumKeys, {}}).number, 3);
  EXPECT_THAT(Ask({Operation::kListKeys, {}}).texts, UnorderedElementsAre("/a", "/b", "/c"));
}

TEST_F(StoreTest, Add) {
  EXPECT_EQ(Number(Operation::kAdd, "/n", 5), 5);
  EXPECT_EQ(Number(Operation::kAdd, "/n", -7), -2);
  EXPECT_EQ(Get("/n"), "-2");
  Set("/n", " 12abc");
  EXPECT_EQ(Number(Operation::kAdd, "/n", 1), 13);
  Set("/n", "9223372036854775807");
  EXPECT_EQ(Number(Operation::kAdd, "/n", 1), INT64_MIN);
}

TEST_F(StoreTest, AddToNoNumberIsRefused) {
  Set("/n", "abc");
  EXPECT_EQ(Refused({Operation::kAdd, {"/n"}, 1}),
            (Error{Code::kDisagreement, "the value of \"/n\" is no number, so nothing can be added", ""}));
  EXPECT_EQ(Get("/n"), "abc");
  Refused({Operation::kBarrier, {"/n"}, 2});
}

TEST_F(StoreTest, CompareSet) {
  const auto compare = [&](std::string_view expected, std::string_view desired) {
    return Ask({Operation::kCompareSet, {"/k", expected, desired}}).texts.at(0);
  };
  EXPECT_EQ(compare("else", "1"), "else") << "a missing key answers what was expected";
  EXPECT_EQ(Number(Operation::kNumKeys), 0);
  EXPECT_EQ(compare("", "1"), "1");
  EXPECT_EQ(compare("", "2"), "1");
  EXPECT_EQ(compare("1", "3"), "3");
  EXPECT_EQ(Get("/k"), "3");
}

TEST_F(StoreTest, DeleteAndCheck) {
  Set("/a", "1");
  EXPECT_EQ(Number(Operation::kCheck, "/a"), kReady);
  EXPECT_EQ(Ask({Operation::kCheck, {"/a", "/b"}}).number, kNotReady);
  EXPECT_EQ(Ask({Operation::kCheck, {}}).number, kReady);
  EXPECT_EQ(Number(Operation::kDelete, "/a"), 1);
  EXPECT_EQ(Number(Operation::kDelete, "/a"), 0);
  EXPECT_EQ(Number(Operation::kCheck, "/a"), kNotReady);
}

TEST_F(StoreTest, WaitIsAnsweredWhenAllKeysAreThere) {
  Set("/there", "1");
  EXPECT_FALSE(Waits(kTwo, {"/there"}));
  EXPECT_FALSE(Waits(kTwo, {}));
  EXPECT_TRUE(Waits(kTwo, {"/a", "/there", "/b"}));
  Set("/a", "1");
  EXPECT_THAT(woken, IsEmpty());
  Number(Operation::kDelete, "/a");
  Set("/b", "1");
  EXPECT_THAT(woken, ElementsAre(kTwo)) << "a key that was there once is not waited for again";
}

TEST_F(StoreTest, EveryWayToMakeAKeyWakes) {
  const std::vector<Request> ways = {
      {Operation::kSet, {"/k", ""}},       {Operation::kMultiSet, {"/x", "", "/k", ""}},
      {Operation::kAdd, {"/k"}, 0},        {Operation::kAppend, {"/k", ""}},
      {Operation::kQueuePush, {"/k", ""}}, {Operation::kCompareSet, {"/k", "", "1"}},
      {Operation::kBarrier, {"/k"}, 1},
  };
  for (const Request& way : ways) {
    ASSERT_TRUE(Waits(kTwo, {"/k"}));
    Ask(way);
    EXPECT_THAT(woken, ElementsAre(kTwo)) << static_cast<int>(way.operation);
    store.Clear();
  }
  EXPECT_EQ(store.waiting(), 0u);
  EXPECT_EQ(memory.taken(), 0u);
}

TEST_F(StoreTest, WhoGivesUpIsNotWoken) {
  EXPECT_TRUE(Waits(kTwo, {"/a"}));
  EXPECT_TRUE(Waits(kThree, {"/a"}));
  EXPECT_EQ(Ask({Operation::kCancelWait, {}}, kTwo).number, kWaitCanceled);
  store.Forget(kThree);
  Set("/a", "1");
  EXPECT_THAT(woken, IsEmpty());
  EXPECT_EQ(Ask({Operation::kCancelWait, {}}, kTwo).number, kWaitCanceled);
}

TEST_F(StoreTest, Queues) {
  EXPECT_EQ(Number(Operation::kQueuePop, "/q"), 0);
  Ask({Operation::kQueuePush, {"/q", "1"}});
  Ask({Operation::kQueuePush, {"/q", "2"}});
  EXPECT_EQ(Number(Operation::kQueueLen, "/q"), 2);
  EXPECT_EQ(Number(Operation::kCheck, "/q"), kReady);
  EXPECT_EQ(Number(Operation::kNumKeys), 0);
  const Reply first = Ask({Operation::kQueuePop, {"/q"}});
  EXPECT_EQ(first.number, 2);
  EXPECT_THAT(first.texts, ElementsAre("1"));
  EXPECT_THAT(Ask({Operation::kQueuePop, {"/q"}}).texts, ElementsAre("2"));
  EXPECT_EQ(Number(Operation::kCheck, "/q"), kNotReady);
}

TEST_F(StoreTest, OnePushWakesOne) {
  EXPECT_TRUE(Waits(kTwo, {"/q"}));
  EXPECT_TRUE(Waits(kThree, {"/q"}));
  Ask({Operation::kQueuePush, {"/q", "1"}});
  EXPECT_THAT(woken, ElementsAre(kTwo));
  Ask({Operation::kQueuePush, {"/q", "2"}});
  EXPECT_THAT(woken, ElementsAre(kThree));
}

// PyTorch's server keeps who was woken by a push in the list, and a later push ends whatever he waits for
// then.
TEST_F(StoreTest, APushEndsNoOtherWait) {
  EXPECT_TRUE(Waits(kTwo, {"/q"}));
  Ask({Operation::kQueuePush, {"/q", "1"}});
  EXPECT_TRUE(Waits(kTwo, {"/k"}));
  Ask({Operation::kQueuePush, {"/q", "2"}});
  EXPECT_THAT(woken, IsEmpty());
}

TEST_F(StoreTest, ABarrierOpensForAllAtOnce) {
  const auto come = [&](ClientId client) { return Ask({Operation::kBarrier, {"/b"}, 3}, client).answered; };
  EXPECT_FALSE(come(kOne));
  EXPECT_FALSE(come(kTwo));
  EXPECT_THAT(woken, IsEmpty());
  EXPECT_TRUE(come(kThree));
  EXPECT_THAT(woken, ElementsAre(kOne, kTwo));
  EXPECT_TRUE(come(kOne)) << "a barrier serves once";
  EXPECT_EQ(Get("/b"), "4");
}

TEST_F(StoreTest, PingAndASecondValidate) {
  EXPECT_EQ(Ask({Operation::kPing, {}, 0xfedcba98}).number, 0xfedcba98);
  EXPECT_EQ(Refused({Operation::kValidate, {}, kValidationNumber}).message, "a second VALIDATE");
}

TEST_F(StoreTest, AnAnswerHasItsLimit) {
  Set("/large", std::string(400, 'x'));
  EXPECT_EQ(
      Refused({Operation::kMultiGet, {"/large", "/large", "/large"}}),
      (Error{Code::kDisagreement, "the answer would be longer than the 1000 bytes that are allowed", ""}));
  const std::string more(700, 'x');
  EXPECT_EQ(Refused({Operation::kAppend, {"/large", more}}).message,
            "the answer would be longer than the 1000 bytes that are allowed");
  for (int i = 0; i < 10; ++i) Set(fmt::format("/{}{}", i, std::string(100, 'k')), "");
  EXPECT_EQ(Refused({Operation::kListKeys, {}}).message,
            "the answer would be longer than the 1000 bytes that are allowed");
}

TEST_F(StoreTest, MemoryHasItsLimit) {
  const std::string large(9000, 'x');
  Set("/a", large);
  EXPECT_EQ(
      Refused({Operation::kSet, {"/b", large}}),
      (Error{Code::kDisagreement,
             "the store's keys and values hold 9130 bytes; 9130 more would be beyond their limit of 10000",
             ""}));
  Refused({Operation::kQueuePush, {"/b", large}});
  Refused({Operation::kWait, {large}});
  EXPECT_EQ(Number(Operation::kDelete, "/a"), 1);
  Set("/b", large);
}

TEST_F(StoreTest, ClearLeavesNothing) {
  Set("/a", "1");
  Ask({Operation::kQueuePush, {"/q", "1"}});
  store.Clear();
  EXPECT_EQ(store.keys(), 0u);
  EXPECT_EQ(memory.taken(), 0u);
  EXPECT_EQ(Number(Operation::kQueueLen, "/q"), 0);
}

TEST(LeadingInteger, ReadsAsStrtollDoes) {
  EXPECT_EQ(LeadingInteger("12"), 12);
  EXPECT_EQ(LeadingInteger(" \t\n\v\f\r-12"), -12);
  EXPECT_EQ(LeadingInteger("+5"), 5);
  EXPECT_EQ(LeadingInteger("12abc"), 12);
  EXPECT_EQ(LeadingInteger("1e3"), 1);
  EXPECT_EQ(LeadingInteger("0x10"), 0);
  EXPECT_EQ(LeadingInteger("-9223372036854775808"), INT64_MIN);
}

TEST(LeadingInteger, IsAbsentWhereThereIsNone) {
  for (const char* text : {"", " ", "abc", "+", "-", "+-1", "--1", "- 1", "9223372036854775808"}) {
    EXPECT_EQ(LeadingInteger(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace muster::tcp_store
