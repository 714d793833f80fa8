// Waits until a thread of this process is in a call that waits.
#pragma once

#include <sys/types.h>
#include <time.h>

#include <fstream>
#include <string>

namespace muster::testing_support {

// A wait for a lock ends soon, and counts as a switch: this thread sleeps in the same wait for a tenth of a second.
inline void AwaitLongSleep(pid_t thread) {
  const std::string path = "/proc/self/task/" + std::to_string(thread) + "/status";
  const timespec pause{0, 5'000'000};
  std::string switches;
  for (int same = 0; same < 20; nanosleep(&pause, nullptr)) {
    std::ifstream file(path);
    bool sleeps = false;
    std::string now;
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("State:")) sleeps = line.find("S (sleeping)") != std::string::npos;
      if (line.starts_with("voluntary_ctxt_switches:")) now = line;
    }
    same = sleeps && now == switches ? same + 1 : 0;
    switches = now;
  }
}

}  // namespace muster::testing_support
