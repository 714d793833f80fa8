// A field of a log event: a name and a number, a truth or a text. Ranks, one or many, are numbers or ranges
// in a text ("0-3,7"), so that a line stays short for thousands.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "comm/base/lists.h"

namespace muster {

class LogValue {
 public:
  using Variant = std::variant<bool, int64_t, double, std::string>;

  template <std::same_as<bool> T>
  LogValue(T value) : value_(value) {}  // NOLINT(google-explicit-constructor): {"late", true}
  template <std::integral T>
  requires(!std::same_as<T, bool>) LogValue(T value) : value_(static_cast<int64_t>(value)) {}  // NOLINT
  LogValue(double value) : value_(value) {}                                                    // NOLINT
  LogValue(std::string value) : value_(std::move(value)) {}                                    // NOLINT
  LogValue(std::string_view value) : value_(std::string(value)) {}                             // NOLINT
  LogValue(const char* value) : value_(std::string(value)) {}                                  // NOLINT
  LogValue(const std::vector<int>& ascending) : value_(FormatRanges(ascending)) {}             // NOLINT
  template <typename Rep, typename Period>
  LogValue(std::chrono::duration<Rep, Period> duration)  // NOLINT: in seconds
      : value_(std::chrono::duration<double>(duration).count()) {}

  const Variant& value() const { return value_; }

 private:
  Variant value_;
};

struct LogField {
  std::string_view name;
  LogValue value;
};

}  // namespace muster
