#include "comm/rendezvous/pmi/pmi_wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/comm/base/print_error.h"

namespace muster::rendezvous {
namespace {

using testing::ElementsAre;
using testing::Pair;

constexpr auto kOne = PmiVersion::kOne;
constexpr auto kTwo = PmiVersion::kTwo;

std::string WhyNot(PmiVersion version, std::string received) {
  const auto taken = TakePmi(version, received);
  if (taken) return *taken ? "it is one" : "more has to come";
  EXPECT_EQ(taken.error().code, Code::kDisagreement);
  const std::string what = "what the PMI server sent is no PMI message: ";
  EXPECT_EQ(taken.error().message.substr(0, what.size()), what);
  return taken.error().message.substr(what.size());
}

TEST(PmiWire, WritesBothVersions) {
  EXPECT_EQ(EncodePmi(kOne, "init", {{"pmi_version", "1"}, {"pmi_subversion", "1"}}),
            "cmd=init pmi_version=1 pmi_subversion=1\n");
  EXPECT_EQ(EncodePmi(kOne, "finalize", {}), "cmd=finalize\n");
  EXPECT_EQ(EncodePmi(kTwo, "name-lookup", {{"name", "here"}}), "26    cmd=name-lookup;name=here;");
}

// As Hydra of MPICH 4.0 sends them.
TEST(PmiWire, ReadsLines) {
  std::string received =
      "cmd=lookup_result port=a,b:1 info=ok rc=0 msg=success\ncmd=lookup_result rc=1 "
      "msg=service_not_found\ncmd=f";
  const auto first = TakePmi(kOne, received);
  ASSERT_TRUE(first && *first);
  EXPECT_EQ((*first)->command, "lookup_result");
  EXPECT_THAT((*first)->fields, ElementsAre(Pair("info", "ok"), Pair("msg", "success"), Pair("port", "a,b:1"),
                                            Pair("rc", "0")));
  EXPECT_EQ((*first)->Get("port"), "a,b:1");
  EXPECT_EQ((*first)->Get("nothing"), "");
  const auto second = TakePmi(kOne, received);
  ASSERT_TRUE(second && *second);
  EXPECT_EQ((*second)->Get("rc"), "1");
  EXPECT_EQ(TakePmi(kOne, received), Result<std::optional<PmiMessage>>(std::nullopt));
  EXPECT_EQ(received, "cmd=f");
}

// As Slurm 22.05 sends them: the length to the left.
TEST(PmiWire, ReadsWhatIsCounted) {
  const std::string answer = "cmd=name-lookup-response;rc=0;value=here;";
  const std::string whole = "41    " + answer;
  ASSERT_EQ(answer.size(), 41U);
  for (size_t part = 0; part < whole.size(); ++part) {
    std::string received = whole.substr(0, part);
    EXPECT_EQ(TakePmi(kTwo, received), Result<std::optional<PmiMessage>>(std::nullopt)) << part;
    EXPECT_EQ(received.size(), part);
  }
  std::string received = whole + "    41";
  const auto taken = TakePmi(kTwo, received);
  ASSERT_TRUE(taken && *taken);
  EXPECT_EQ((*taken)->command, "name-lookup-response");
  EXPECT_EQ((*taken)->Get("value"), "here");
  received += answer;
  EXPECT_EQ(*TakePmi(kTwo, received), *taken);
  EXPECT_EQ(received, "");
}

TEST(PmiWire, ValuesMayHaveAnEqualsSign) {
  std::string received = "cmd=get_result value=a=b rc=0\n";
  EXPECT_EQ((*TakePmi(kOne, received))->Get("value"), "a=b");
}

TEST(PmiWire, OfTwoFieldsOfOneNameTheFirstCounts) {
  std::string received = "cmd=get_result rc=0 rc=1\n";
  EXPECT_EQ((*TakePmi(kOne, received))->Get("rc"), "0");
}

TEST(PmiWire, RefusesWhatIsNoMessage) {
  EXPECT_EQ(WhyNot(kOne, "\n"), "it is empty");
  EXPECT_EQ(WhyNot(kOne, "hello\n"), "a field of it has no name or no value");
  EXPECT_EQ(WhyNot(kOne, "cmd=a =b\n"), "a field of it has no name or no value");
  EXPECT_EQ(WhyNot(kOne, "rc=0 cmd=a\n"), "it does not begin with a command");
  EXPECT_EQ(WhyNot(kOne, "cmd= rc=0\n"), "it does not begin with a command");
  EXPECT_EQ(WhyNot(kOne, std::string(9000, 'x')), "its line does not end");
  std::string many = "cmd=a";
  for (int i = 0; i < 64; ++i) many += fmt::format(" f{}=1", i);
  EXPECT_EQ(WhyNot(kOne, many + "\n"), "it has too many fields");
  EXPECT_EQ(WhyNot(kTwo, "cmd=init pmi_version=1\n"), "its length is none");
  EXPECT_EQ(WhyNot(kTwo, "0     "), "its length is none");
  EXPECT_EQ(WhyNot(kTwo, "-1    "), "its length is none");
  EXPECT_EQ(WhyNot(kTwo, "999999"), "its length is none");
}

}  // namespace
}  // namespace muster::rendezvous
