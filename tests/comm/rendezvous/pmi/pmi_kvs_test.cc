#include "comm/rendezvous/pmi/pmi_kvs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/comm/base/print_error.h"
#include "tests/comm/rendezvous/pmi_server.h"

namespace muster::rendezvous {
namespace {

using testing::ElementsAreArray;

Deadline Soon() { return Deadline::After(std::chrono::seconds(10)); }
Deadline Now() { return Deadline::After(std::chrono::milliseconds(20)); }

std::string Counted(const std::string& text) { return fmt::format("{:<6}{}", text.size(), text); }

// As Hydra of MPICH 4.0.2 answers.
const PmiExchange kInit{"cmd=init pmi_version=1 pmi_subversion=1\n",
                        "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"};
const PmiExchange kUnpublish{"cmd=unpublish_name service=here\n",
                             "cmd=unpublish_result info=ok rc=1 msg=service_not_found\n"};
const PmiExchange kPublish{"cmd=publish_name service=here port=text\n",
                           "cmd=publish_result info=ok rc=0 msg=success\n"};
const PmiExchange kNotThere{"cmd=lookup_name service=here\n",
                            "cmd=lookup_result rc=1 msg=service_not_found\n"};
const PmiExchange kThere{"cmd=lookup_name service=here\n",
                         "cmd=lookup_result port=text info=ok rc=0 msg=success\n"};
const PmiExchange kFinalize{"cmd=finalize\n", "cmd=finalize_ack\n"};

// As Slurm 22.05 does.
const PmiExchange kInitTwo{"cmd=init pmi_version=2 pmi_subversion=0\n",
                           "cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0\n"};
const PmiExchange kFullInit{
    Counted("cmd=fullinit;pmijobid=7.0;pmirank=3;threaded=FALSE;"),
    Counted("cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;rank=3;size=4;")};

std::vector<std::string> QuestionsOf(const std::vector<PmiExchange>& script) {
  std::vector<std::string> questions;
  for (const PmiExchange& exchange : script) questions.push_back(exchange.first);
  return questions;
}

// Runs `use` against such a server, which must be asked all of this and no more.
template <typename Use>
void Against(const std::vector<PmiExchange>& script, const PmiAccess& access, const Use& use) {
  ScriptedPmiServer server(script);
  {
    PmiAccess here = access;
    here.fd = server.client.get();
    PmiKvs kvs(here);
    use(kvs);
  }
  EXPECT_THAT(server.Join(), ElementsAreArray(QuestionsOf(script)));
}

TEST(PmiKvs, PublishesInPlaceOfWhatIsThere) {
  Against({kInit, kUnpublish, kPublish, kFinalize}, {},
          [](PmiKvs& kvs) { EXPECT_TRUE(kvs.Publish("here", "text", Soon())); });
}

TEST(PmiKvs, LooksUpAgainAndAgain) {
  Against({kInit, kNotThere, kThere, kFinalize}, {}, [](PmiKvs& kvs) {
    EXPECT_EQ(kvs.LookUp("here", Soon()), Result<std::optional<std::string>>(std::nullopt));
    EXPECT_EQ(kvs.LookUp("here", Soon()), Result<std::optional<std::string>>("text"));
  });
}

TEST(PmiKvs, IsLeftOnceAndForAll) {
  Against({kInit, kNotThere, kFinalize}, {}, [](PmiKvs& kvs) {
    EXPECT_TRUE(kvs.LookUp("here", Soon()));
    kvs.Leave();
    kvs.Leave();
    const auto found = kvs.LookUp("here", Soon());
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().message, kvs.Describe() + " has been left");
  });
}

// While a program of this rank may talk over the same connection.
TEST(PmiKvs, IsSilentWhileItRests) {
  Against({kInit, kNotThere, kThere, kFinalize}, {}, [](PmiKvs& kvs) {
    EXPECT_TRUE(kvs.LookUp("here", Soon()));
    kvs.Rest();
    const auto found = kvs.LookUp("here", Soon());
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error(),
              (Error{Code::kSystem, kvs.Describe() + " may be in use by a program of this rank", ""}));
    kvs.Wake();
    EXPECT_EQ(kvs.LookUp("here", Soon()), Result<std::optional<std::string>>("text"));
    kvs.Rest();
  });
}

TEST(PmiKvs, SpeaksTheSecondVersion) {
  const std::vector<PmiExchange> script{
      kInitTwo,
      kFullInit,
      {Counted("cmd=name-lookup;name=here;"), Counted("cmd=name-lookup-response;rc=1;")},
      {Counted("cmd=name-unpublish;name=here;"), Counted("cmd=name-unpublish-response;rc=0;")},
      {Counted("cmd=name-publish;name=here;port=text;"), Counted("cmd=name-publish-response;rc=0;")},
      {Counted("cmd=name-lookup;name=here;"), Counted("cmd=name-lookup-response;rc=0;value=text;")},
      {Counted("cmd=finalize;"), Counted("cmd=finalize-response;rc=0;")}};
  Against(script, {-1, PmiVersion::kTwo, 3, "7.0"}, [](PmiKvs& kvs) {
    EXPECT_EQ(kvs.LookUp("here", Soon()), Result<std::optional<std::string>>(std::nullopt));
    EXPECT_TRUE(kvs.Publish("here", "text", Soon()));
    EXPECT_EQ(kvs.LookUp("here", Soon()), Result<std::optional<std::string>>("text"));
  });
}

// Slurm's PMI-1 sends neither rc nor a reason.
TEST(PmiKvs, UnderstandsInfoAlone) {
  Against({kInit, {"cmd=lookup_name service=here\n", "cmd=lookup_result info=fail\n"}, kFinalize}, {},
          [](PmiKvs& kvs) {
            EXPECT_EQ(kvs.LookUp("here", Soon()), Result<std::optional<std::string>>(std::nullopt));
          });
}

// A client that sends nothing at first has no connection in mpiexec's view: mpiexec then expects no end.
TEST(PmiKvs, SaysNothingUnasked) {
  Against({}, {}, [](PmiKvs&) {});
}

void ExpectUseless(const std::vector<PmiExchange>& script, const PmiAccess& access,
                   const std::string& problem) {
  Against(script, access, [&](PmiKvs& kvs) {
    for (int i = 0; i < 2; ++i) {
      const auto found = kvs.LookUp("here", Soon());
      ASSERT_FALSE(found);
      EXPECT_EQ(found.error(), (Error{Code::kConfiguration, kvs.Describe() + " " + problem,
                                      "set rendezvous.method: tcp to avoid it"}));
    }
  });
}

TEST(PmiKvs, AServerOfAnotherVersionIsNamed) {
  ExpectUseless({{kInitTwo.first, "cmd=response_to_init rc=-1 pmi_version=1 pmi_subversion=1\n"}},
                {-1, PmiVersion::kTwo, 3, "7.0"}, "does not support PMI-2, or another version is in use");
  ExpectUseless({kInitTwo, {kFullInit.first, Counted("cmd=fullinit-response;rc=3;")}},
                {-1, PmiVersion::kTwo, 3, "7.0"}, "does not accept this process as one of its ranks");
}

TEST(PmiKvs, WhatCannotBeUnderstoodIsTheEnd) {
  ExpectUseless(
      {kInit, {kThere.first, "hello\n"}}, {},
      "cannot be understood: what the PMI server sent is no PMI message: a field of it has no name or no "
      "value");
  ExpectUseless({kInit, {kThere.first, "cmd=put_result rc=0\n"}}, {}, "answers lookup_name with put_result");
}

TEST(PmiKvs, AServerThatHangsUpIsSaid) {
  ScriptedPmiServer server({kInit});
  PmiKvs kvs({server.client.get(), PmiVersion::kOne, 0, ""});
  const auto found = kvs.LookUp("here", Soon());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error(), (Error{Code::kConfiguration, kvs.Describe() + " has closed the connection",
                                  "set rendezvous.method: tcp or file; this server serves one muster run of "
                                  "each rank, before any MPI program"}));
}

TEST(PmiKvs, ADescriptorThatIsNoneOfItsIsNotSpokenTo) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  PmiKvs kvs({writer.get(), PmiVersion::kOne, 0, ""});
  const auto found = kvs.LookUp("here", Soon());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message, fmt::format("the PMI server at PMI_FD={} is not there", writer.get()));
  writer.Reset();
  char byte = 0;
  EXPECT_EQ(read(reader.get(), &byte, 1), 0);
}

// The answer to a question that was given up is not taken for that to the next.
TEST(PmiKvs, ALateAnswerIsPassedOver) {
  std::array<int, 2> ends{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  const UniqueFd server(ends[0]);
  const UniqueFd client(ends[1]);
  PmiKvs kvs({client.get(), PmiVersion::kOne, 0, ""});
  const auto answer = [&](const std::string& text) {
    ASSERT_EQ(send(server.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  };
  answer(kInit.second);
  const auto silent = kvs.LookUp("here", Now());
  ASSERT_FALSE(silent);
  EXPECT_EQ(silent.error(), (Error{Code::kDeadline, kvs.Describe() + " has not answered in time", ""}));
  answer(kNotThere.second);
  answer(kThere.second);
  EXPECT_EQ(kvs.LookUp("here", Soon()), Result<std::optional<std::string>>("text"));
  answer(kFinalize.second);
}

}  // namespace
}  // namespace muster::rendezvous
