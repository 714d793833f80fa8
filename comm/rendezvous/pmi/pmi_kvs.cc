#include "comm/rendezvous/pmi/pmi_kvs.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "comm/net/socket.h"
#include "comm/system/timed_lock.h"

namespace muster::rendezvous {
// The names of the same requests and their answers in each version.
struct PmiKvs::Vocabulary {
  Words publish;
  Words unpublish;
  Words look_up;
  Words finalize;
  std::string_view name;  // of the fields
  std::string_view found;
};

const PmiKvs::Vocabulary& PmiKvs::VocabularyOf(PmiVersion version) {
  static constexpr Vocabulary kOne{{"publish_name", "publish_result"},
                                   {"unpublish_name", "unpublish_result"},
                                   {"lookup_name", "lookup_result"},
                                   {"finalize", "finalize_ack"},
                                   "service",
                                   "port"};
  static constexpr Vocabulary kTwo{{"name-publish", "name-publish-response"},
                                   {"name-unpublish", "name-unpublish-response"},
                                   {"name-lookup", "name-lookup-response"},
                                   {"finalize", "finalize-response"},
                                   "name",
                                   "value"};
  return version == PmiVersion::kOne ? kOne : kTwo;
}

namespace {

// Hydra sends rc=0 beside info=ok, Slurm's PMI-1 info alone, PMI-2 rc alone.
bool Succeeded(const PmiMessage& answer) {
  const std::string_view info = answer.Get("info");
  const std::string_view code = answer.Get("rc");
  return (info.empty() || info == "ok") && (code.empty() || code == "0") && !(info.empty() && code.empty());
}

using Asks = int (*)(int* answer);

bool Says(void* library, const char* question) {
  const auto ask = reinterpret_cast<Asks>(dlsym(library, question));
  int answer = 0;
  return ask != nullptr && ask(&answer) == 0 && answer != 0;
}

bool RunsIn(void* library) { return Says(library, "MPI_Initialized") && !Says(library, "MPI_Finalized"); }

// Between MPI_Init and MPI_Finalize, of any MPI that this process has loaded: it then uses the launcher's
// server, and ends the connection itself. Does not block.
bool MpiIsRunning() {
  if (RunsIn(RTLD_DEFAULT)) return true;
  // Libraries that Python has loaded (mpi4py) cannot be found by symbol alone.
  for (const char* name : std::array{"libmpich.so.12", "libmpi.so.12", "libmpi.so.40"}) {
    void* library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    const bool runs = RunsIn(library);
    dlclose(library);
    if (runs) return true;
  }
  return false;
}

}  // namespace

PmiKvs::PmiKvs(PmiAccess access) : access_(std::move(access)) {
  if (access_.version == PmiVersion::kTwo && IsThere()) fcntl(access_.fd, F_SETFD, FD_CLOEXEC);
}

PmiKvs::~PmiKvs() { PmiKvs::Leave(); }

void PmiKvs::Leave() {
  const Deadline deadline = Deadline::After(kKvsLeaveTime);
  const auto lock = LockUntil(mutex_, deadline.when());
  if (!lock || broken_) return;
  // If a program has ended the connection before this call, no server receives it.
  const Words& words = VocabularyOf(access_.version).finalize;
  if (spoken_ && !mpi_was_here_ && !MpiIsRunning()) {
    [[maybe_unused]] const auto ended = Transact(access_.version, words.question, {}, words.answer, deadline);
  }
  [[maybe_unused]] const auto left = Unusable("has been left");
}

// An answer that is still owed would be taken for one to the program.
void PmiKvs::Rest() {
  const Deadline deadline = Deadline::After(kKvsLeaveTime);
  resting_ = true;
  const auto lock = LockUntil(mutex_, deadline.when());
  if (!lock || broken_) return;
  [[maybe_unused]] const auto heard = ReceiveOutstanding(deadline);
}

std::string PmiKvs::Describe() const { return fmt::format("the PMI server at PMI_FD={}", access_.fd); }

// A server without such an entry reports only that it failed: the name is free in either case.
Status PmiKvs::Publish(const std::string& name, const std::string& text, Deadline deadline) {
  const Vocabulary& words = VocabularyOf(access_.version);
  MUSTER_CHECK(Ask(words.unpublish, {{words.name, name}}, deadline));
  MUSTER_TRY(const PmiMessage answer, Ask(words.publish, {{words.name, name}, {"port", text}}, deadline));
  if (Succeeded(answer)) return {};
  return Unusable("refuses to publish a name");
}

Result<std::optional<std::string>> PmiKvs::LookUp(const std::string& name, Deadline deadline) {
  const Vocabulary& words = VocabularyOf(access_.version);
  MUSTER_TRY(const PmiMessage answer, Ask(words.look_up, {{words.name, name}}, deadline));
  if (!Succeeded(answer)) return std::nullopt;
  return std::string(answer.Get(words.found));
}

Result<PmiMessage> PmiKvs::Ask(const Words& words, const Fields& fields, Deadline deadline) {
  const auto lock = LockUntil(mutex_, deadline.when());
  if (!lock) return Silent();
  if (resting_) return Fail(Code::kSystem, "{} may be in use by a program of this rank", Describe());
  MUSTER_CHECK(Begin(deadline));
  return Transact(access_.version, words.question, fields, words.answer, deadline);
}

// A descriptor that other code has closed may refer to another file by now.
bool PmiKvs::IsThere() const { return net::LocalAddress(access_.fd).family() == AF_UNIX; }

Status PmiKvs::Begin(Deadline deadline) {
  if (begun_) return {};
  if (!IsThere()) return Unusable("is not there");
  mpi_was_here_ = MpiIsRunning();
  if (!mpi_was_here_) MUSTER_CHECK(Greet(deadline));
  begun_ = true;
  return {};
}

Status PmiKvs::Greet(Deadline deadline) {
  const bool one = access_.version == PmiVersion::kOne;
  MUSTER_TRY(const PmiMessage hello,
             Transact(PmiVersion::kOne, "init",
                      {{"pmi_version", one ? "1" : "2"}, {"pmi_subversion", one ? "1" : "0"}},
                      "response_to_init", deadline));
  if (hello.Get("rc") != "0")
    return Unusable(fmt::format("does not support PMI-{}, or another version is in use", one ? 1 : 2));
  if (one) return {};
  const std::string rank = std::to_string(access_.rank);
  MUSTER_TRY(const PmiMessage whole,
             Transact(PmiVersion::kTwo, "fullinit",
                      {{"pmijobid", access_.job}, {"pmirank", rank}, {"threaded", "FALSE"}},
                      "fullinit-response", deadline));
  if (whole.Get("rc") != "0") return Unusable("does not accept this process as one of its ranks");
  return {};
}

// Answers come in the order of the requests, including those to requests that timed out.
Status PmiKvs::ReceiveOutstanding(Deadline deadline) {
  for (; !owed_.empty(); owed_.pop_front()) MUSTER_CHECK(Receive(owed_.front(), deadline));
  return {};
}

Result<PmiMessage> PmiKvs::Transact(PmiVersion version, std::string_view question, const Fields& fields,
                                    std::string_view answer, Deadline deadline) {
  if (broken_) return tl::unexpected<Error>(*broken_);
  MUSTER_CHECK(ReceiveOutstanding(deadline));
  MUSTER_CHECK(Send(EncodePmi(version, question, fields), deadline));
  owed_.push_back(version);
  MUSTER_TRY(PmiMessage message, Receive(version, deadline));
  owed_.pop_front();
  if (message.command == answer) return message;
  return Unusable(fmt::format("answers {} with {}", question, message.command));
}

Result<PmiMessage> PmiKvs::Receive(PmiVersion version, Deadline deadline) {
  while (true) {
    auto message = TakePmi(version, received_);
    if (!message) return Unusable(fmt::format("cannot be understood: {}", message.error().message));
    if (*message) return **std::move(message);
    MUSTER_CHECK(Wait(POLLIN, deadline));
    std::array<char, 4096> buffer{};
    const ssize_t got = recv(access_.fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got > 0) received_.append(buffer.data(), static_cast<size_t>(got));
    if (got == 0) return HungUp();
    if (got < 0 && errno != EAGAIN && errno != EINTR) return HungUp();
  }
}

Status PmiKvs::Send(std::string_view text, Deadline deadline) {
  spoken_ = true;
  while (!text.empty()) {
    const ssize_t sent = send(access_.fd, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) {
      text.remove_prefix(static_cast<size_t>(sent));
    } else if (errno == EAGAIN) {
      MUSTER_CHECK(Wait(POLLOUT, deadline));
    } else if (errno != EINTR) {
      return HungUp();
    }
  }
  return {};
}

Status PmiKvs::Wait(short events, Deadline deadline) const {
  pollfd waiting{access_.fd, events, 0};
  while (!deadline.Expired()) {
    if (poll(&waiting, 1, deadline.PollMilliseconds()) > 0) return {};
  }
  return Silent();
}

tl::unexpected<Error> PmiKvs::Silent() const {
  return Fail(Code::kDeadline, "{} has not answered in time", Describe());
}

// The server has ended, or another program of this rank has finalized the connection.
tl::unexpected<Error> PmiKvs::HungUp() {
  broken_ = Error{Code::kConfiguration, fmt::format("{} has closed the connection", Describe()),
                  "set rendezvous.method: tcp or file; this server serves one muster run of each rank, "
                  "before any MPI program"};
  return tl::unexpected<Error>(*broken_);
}

tl::unexpected<Error> PmiKvs::Unusable(std::string_view how) {
  broken_ = Error{Code::kConfiguration, fmt::format("{} {}", Describe(), how),
                  "set rendezvous.method: tcp to avoid it"};
  return tl::unexpected<Error>(*broken_);
}

}  // namespace muster::rendezvous
