// muster status --watch: the state of groups again and again, until they have ended.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "comm/base/deadline.h"
#include "comm/base/error.h"

namespace muster::status {

struct WatchedState {
  std::string text;  // for the output: text, or one line of JSON
  std::string jobs;  // for the last sentence
};

struct WatchOptions {
  Duration interval{};
  bool json = false;
  std::function<std::string(const Error&)> describe;  // in place of a state
};

// "2s", "0.5" (seconds). Error: kUsage, names the text and the limits.
Result<Duration> ParseInterval(std::string_view text);

// Calls `ask` each `interval` and writes its text: in place on a terminal, else one after another. It returns 0
// when `ask` has answered kNotLaunched twice in a row: a group that starts again is away for a moment. It
// writes other errors instead of the state and goes on. If the first answer is an error, it is that one.
// Ctrl-C ends the process with 0. If the reader of the output ends, it returns 0.
Result<int> Watch(const WatchOptions& options, const std::function<Result<WatchedState>()>& ask);

}  // namespace muster::status
