// The time text of a line (log_time.h). A separate header: a change of log.h compiles every room again.
#pragma once

#include <chrono>
#include <string>

namespace muster {

using TimeText = std::string (*)(std::chrono::system_clock::time_point);

// Of later lines; null: they have no time. Any thread.
void SetLogTimeText(TimeText text);

}  // namespace muster
