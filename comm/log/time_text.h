// The text in front of a line, as log_time.h chooses it. A header of its own: a change of log.h compiles every room again.
#pragma once

#include <chrono>
#include <string>

namespace muster {

using TimeText = std::string (*)(std::chrono::system_clock::time_point);

// Of later lines; null: they have no time. Any thread.
void SetLogTimeText(TimeText text);

}  // namespace muster
