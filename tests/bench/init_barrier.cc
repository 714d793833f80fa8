// The cost for a program that links //bootstrap: Init, one Barrier, Shutdown. Rank 0 prints the seconds of
// the first two.
#include <chrono>
#include <cstdio>

#include "bootstrap/bootstrap.h"

namespace {

using Seconds = std::chrono::duration<double>;

int Complain(const muster::Error& error) {
  std::fprintf(stderr, "init_barrier: %s\n", muster::ToString(error).c_str());
  return muster::ExitStatus(error.code);
}

}  // namespace

int main() {
  const auto start = std::chrono::steady_clock::now();
  const muster::Result<muster::Communicator*> group = muster::Init();
  if (!group) return Complain(group.error());
  const auto formed = std::chrono::steady_clock::now();
  if (const muster::Status met = (*group)->Barrier(); !met) return Complain(met.error());
  const auto done = std::chrono::steady_clock::now();
  if ((*group)->rank() == 0) {
    std::printf("%.6f %.6f\n", Seconds(formed - start).count(), Seconds(done - formed).count());
  }
  if (const muster::Status left = muster::Shutdown(); !left) return Complain(left.error());
}
