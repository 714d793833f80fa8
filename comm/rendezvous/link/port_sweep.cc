#include "comm/rendezvous/link/port_sweep.h"

#include <algorithm>
#include <utility>

namespace muster::rendezvous {
namespace {

using std::chrono::milliseconds;

constexpr Duration kFirstPatience = milliseconds(500);
constexpr Duration kLongestPatience = milliseconds(8000);
constexpr Duration kApart = milliseconds(8);
// A root that is merely late is not swept for: this finds one whose first ports are taken by sockets that refuse.
constexpr int kSlower = 16;
// From more leaders on than this the tries of each are further apart.
constexpr size_t kFewLeaders = 64;

}  // namespace

Duration PortSweep::Apart(size_t leaders, bool strangers) {
  const size_t crowd = std::max<size_t>(1, leaders / kFewLeaders);
  return kApart * static_cast<Duration::rep>(crowd) * (strangers ? 1 : kSlower);
}

void PortSweep::StartRound(size_t total) {
  const bool again = round_ == 0 || round_ >= total;
  if (again) patience_ = round_ == 0 ? kFirstPatience : std::min(2 * patience_, kLongestPatience);
  round_ = std::min(again ? kFirstRound : 2 * round_, total);
  next_ = 0;
  left_out_ = std::exchange(strangers_, std::vector<bool>(round_));
}

std::optional<size_t> PortSweep::Next(size_t total) {
  // The second time nothing is left out.
  for (int rounds = 0; total > 0 && rounds < 3; ++rounds) {
    for (; next_ < std::min(round_, total); ++next_) {
      if (next_ >= left_out_.size() || !left_out_[next_]) return next_++;
    }
    StartRound(total);
  }
  return std::nullopt;
}

void PortSweep::SetStranger(size_t index) {
  if (index < strangers_.size()) strangers_[index] = true;
}

}  // namespace muster::rendezvous
