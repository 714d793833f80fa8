#include "bootstrap/check/findings/units.h"

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <string_view>

namespace muster::check {
namespace {

// Two significant digits: "1.2", "45", "310".
std::string Digits(double value) {
  return std::fabs(value) < 9.95 ? fmt::format("{:.1f}", value) : fmt::format("{:.0f}", value);
}

template <size_t N>
std::string Scaled(double value, double step, const std::array<std::string_view, N>& units) {
  size_t unit = 0;
  // A value that rounds up to a whole step belongs to the next unit.
  while (unit + 1 < N && std::fabs(value) >= step - 0.5) {
    value /= step;
    ++unit;
  }
  return fmt::format("{} {}", unit == 0 ? fmt::format("{:.0f}", value) : Digits(value), units[unit]);
}

}  // namespace

std::string ShowNanoseconds(int64_t nanoseconds) {
  static constexpr std::array<std::string_view, 4> kUnits = {"ns", "us", "ms", "s"};
  return Scaled(static_cast<double>(nanoseconds), 1000, kUnits);
}

std::string ShowRate(uint64_t bytes_per_second) {
  static constexpr std::array<std::string_view, 5> kUnits = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
  return Scaled(static_cast<double>(bytes_per_second), 1000, kUnits);
}

std::string ShowFlops(uint64_t per_second) {
  static constexpr std::array<std::string_view, 5> kUnits = {"FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s",
                                                             "TFLOP/s"};
  return Scaled(static_cast<double>(per_second), 1000, kUnits);
}

std::string ShowBytes(uint64_t bytes) {
  static constexpr std::array<std::string_view, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  return bytes == UINT64_MAX ? "unlimited" : Scaled(static_cast<double>(bytes), 1024, kUnits);
}

std::string ShowCount(uint64_t count) { return count == UINT64_MAX ? "unlimited" : std::to_string(count); }

}  // namespace muster::check
