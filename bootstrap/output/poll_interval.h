// For descriptors that the kernel refuses to watch, for want of memory or of fs.epoll.max_user_watches: they are examined at
// intervals.
#pragma once

#include <chrono>
#include <string_view>

#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/base/parse.h"
#include "comm/log/log.h"

namespace muster::output {

inline constexpr Duration kPollInterval = std::chrono::milliseconds(10);

// `stream`: "standard error of rank 3". Once for each.
inline void WarnOfPolling(std::string_view stream, const Error& error) {
  LogWarning("the {} is examined every {} instead of watched: {}", stream, FormatDuration(kPollInterval),
             ToString(error));
}

}  // namespace muster::output
