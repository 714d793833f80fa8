// A rank of a job that is attacked: calls AllReduce every 2 ms until FOLDER/stop exists.
//
//   at_work FOLDER [LEAVER]
//
// The rank LEAVER leaves the group after its first call; the others go on.
// Writes FOLDER/RANK.formed when the group has formed, waits for a writer of the FIFO FOLDER/wait, if there is one, and writes
// FOLDER/RANK.first after the first call. FOLDER/RANK.slow has a line "START SECONDS" for each later call that took more than 5 ms,
// FOLDER/RANK.last the end of the last one. Times are those of the monotonic clock.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "bootstrap/bootstrap.h"
#include "comm/base/unique_fd.h"

namespace muster {
namespace {

using Seconds = std::chrono::duration<double>;
constexpr Seconds kSlow{0.005};
constexpr std::chrono::milliseconds kPause(2);

double Now() { return Seconds(std::chrono::steady_clock::now().time_since_epoch()).count(); }

Status Work(const std::string& folder, const std::string& leaver) {
  MUSTER_TRY(Communicator* const group, Init());
  const std::string own = folder + "/" + std::to_string(group->rank());
  const std::string stop = folder + "/stop";
  std::ofstream(own + ".formed") << std::to_string(Now()) << std::endl;
  const UniqueFd begun(open((folder + "/wait").c_str(), O_RDONLY | O_CLOEXEC));
  MUSTER_CHECK(group->Barrier());
  std::ofstream(own + ".first") << std::to_string(Now()) << std::endl;
  std::unique_ptr<Communicator> staying;
  if (!leaver.empty()) {
    const bool leaves = std::to_string(group->rank()) == leaver;
    MUSTER_TRY(staying, group->Split(leaves ? -1 : 0, 0));
    if (leaves) return Shutdown();
  }
  Communicator& working = staying ? *staying : *group;
  std::ofstream slow(own + ".slow");
  std::ofstream last(own + ".last");
  for (uint8_t over = 0; over == 0; std::this_thread::sleep_for(kPause)) {
    over = access(stop.c_str(), F_OK) == 0 ? 1 : 0;
    const double start = Now();
    MUSTER_CHECK(working.AllReduce(std::span<uint8_t>(&over, 1), ReduceOp::kMax));
    const double end = Now();
    last.seekp(0) << std::to_string(end) << std::flush;
    if (end - start > kSlow.count()) slow << std::to_string(start) << ' ' << end - start << std::endl;
  }
  staying.reset();
  return Shutdown();
}

}  // namespace
}  // namespace muster

int main(int count, char** arguments) {
  if (count != 2 && count != 3) return 64;
  const muster::Status done = muster::Work(arguments[1], count == 3 ? arguments[2] : "");
  if (!done) std::fprintf(stderr, "at_work: %s\n", muster::ToString(done.error()).c_str());
  return done ? 0 : muster::ExitStatus(done.error().code);
}
