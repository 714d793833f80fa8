#include "comm/log/log_time.h"

#include <fmt/chrono.h>

#include <cstdlib>

namespace muster {

std::string LogTimeText(std::chrono::system_clock::time_point time, LogTime form) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(time);
  const std::tm local = fmt::localtime(std::chrono::system_clock::to_time_t(whole));
  if (form == LogTime::kShort) return fmt::format("{:%H:%M:%S} ", local);
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(time - whole).count();
  const long minutes = local.tm_gmtoff / 60;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}{}{:02}:{:02} ", local, milliseconds, minutes < 0 ? '-' : '+',
                     std::abs(minutes) / 60, std::abs(minutes) % 60);
}

}  // namespace muster
