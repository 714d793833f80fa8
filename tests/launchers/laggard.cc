// A program in which all ranks wait for one.
//
//   laggard RANK WHAT [FILE]
//
// All ranks meet in a Barrier; then RANK does WHAT, and its peers are in an AllReduce until it comes.
//   FILE      waits until FILE exists; then all meet and leave
//   exit      exits with 0, without a leave message
//   leave     leaves and exits
//   apart     leaves without the Barrier, so that it never had a connection, and goes on until FILE exists
//   next      as apart, but it goes on to its next group
//   again     all leave and form the next group, without a Barrier in it; RANK comes when FILE exists
//   receive   as FILE, but rank 0 waits in a Recv
//   reduce    rank 0 waits in a Reduce; RANK does its part once there is FILE.part, and leaves; the others do with FILE
//   abandon   gives the group up, takes its time to end on request, and leaves FILE
//   stop      all meet in Barriers all the time; once there is FILE it comes to no further one, until FILE is
//   gone
//   fork      forks a worker that outlives it for FILE, and is killed
#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <string>
#include <thread>

#include "bootstrap/bootstrap.h"
#include "comm/base/parse.h"

namespace {

using muster::Code;
using muster::Communicator;
using muster::Status;

void WaitFor(const std::string& file) {
  while (access(file.c_str(), F_OK) != 0) std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

Status Meet(Communicator& group) {
  std::array<float, 4> values{};
  return group.AllReduce(std::span<float>(values), muster::ReduceOp::kSum);
}

[[noreturn]] void GiveUp(const std::string& file) {
  sigset_t told;
  sigemptyset(&told);
  sigaddset(&told, SIGTERM);
  sigprocmask(SIG_BLOCK, &told, nullptr);
  muster::Abandon("gave up");
  int number = 0;
  sigwait(&told, &number);
  // Longer than the other ranks and their supervisors need to end.
  std::this_thread::sleep_for(std::chrono::seconds(1));
  std::ofstream(file) << "cleaned up\n";
  _exit(0);
}

[[noreturn]] void LeaveAWorkerBehind(const std::string& file) {
  if (fork() == 0) {
    WaitFor(file);
    _exit(0);
  }
  raise(SIGKILL);
  _exit(1);
}

Status BeLate(Communicator& group, const std::string& what, const std::string& file) {
  if (what == "exit") _exit(0);
  if (what == "leave") {
    const Status left = muster::Shutdown();
    _exit(left ? 0 : 1);
  }
  if (what == "apart" || what == "next") {
    MUSTER_CHECK(muster::Shutdown());
    if (what == "next") MUSTER_CHECK(muster::Init());
    WaitFor(file);
    _exit(0);
  }
  if (what == "fork") LeaveAWorkerBehind(file);
  if (what == "abandon") GiveUp(file);
  WaitFor(file.empty() ? what : file);
  if (what != "receive") return {};
  std::array<float, 4> values{};
  return group.Send({values.data(), values.size(), muster::DataType::kF32}, 0);
}

Status MeetUntil(Communicator& group, bool late, const std::string& file) {
  for (;;) {
    const bool stop = late && access(file.c_str(), F_OK) == 0;
    while (stop && access(file.c_str(), F_OK) == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    MUSTER_CHECK(group.Barrier());
  }
}

Status ReduceOneByOne(Communicator& group, bool first, const std::string& file) {
  // After some calls the ranks of a node share memory.
  for (int i = 0; i < 40; ++i) MUSTER_CHECK(group.Barrier());
  if (group.rank() != 0) WaitFor(first ? file + ".part" : file);
  std::array<float, 4> values{};
  MUSTER_CHECK(group.Reduce({values.data(), values.size(), muster::DataType::kF32},
                            {values.data(), values.size(), muster::DataType::kF32}, muster::ReduceOp::kSum,
                            0));
  return muster::Shutdown();
}

Status MeetAgain(int late, const std::string& file) {
  MUSTER_CHECK(muster::Shutdown());
  MUSTER_TRY(Communicator * group, muster::Init());
  if (group->rank() == late) WaitFor(file);
  MUSTER_CHECK(Meet(*group));
  return muster::Shutdown();
}

Status Run(int late, const std::string& what, const std::string& file) {
  const auto initialised = muster::Init();
  if (!initialised) return muster::Fail(initialised.error());
  Communicator& group = **initialised;
  if (what != "apart" && what != "next") MUSTER_CHECK(group.Barrier());
  if (what == "again") return MeetAgain(late, file);
  if (what == "reduce") return ReduceOneByOne(group, group.rank() == late, file);
  if (what == "stop") return MeetUntil(group, group.rank() == late, file);
  if (group.rank() == late) {
    MUSTER_CHECK(BeLate(group, what, file));
  } else if (what == "receive" && group.rank() == 0) {
    std::array<float, 4> values{};
    MUSTER_CHECK(group.Recv({values.data(), values.size(), muster::DataType::kF32}, late));
  }
  MUSTER_CHECK(Meet(group));
  return muster::Shutdown();
}

}  // namespace

int main(int argc, char** argv) {
  const auto late = argc > 2 ? muster::ParseInteger<int>(argv[1]) : std::nullopt;
  if (!late) {
    fmt::print(stderr, "laggard RANK WHAT [FILE]\n");
    return muster::ExitStatus(Code::kUsage);
  }
  const Status done = Run(*late, argv[2], argc > 3 ? argv[3] : "");
  if (done) return 0;
  fmt::print(stderr, "laggard: {}\n", ToString(done.error()));
  return muster::ExitStatus(done.error().code);
}
