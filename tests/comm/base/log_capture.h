// Lines of the log during its life, which a test reads meanwhile. One at a time: a process has one log.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <string>

#include "comm/base/deadline.h"
#include "comm/log/log.h"

namespace muster {

class LogCapture {
 public:
  explicit LogCapture(LogLevel level = LogLevel::kInfo) { SetUpLog({level, LogFormat::kText, path_}); }
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;
  ~LogCapture() {
    SetUpLog({});
    unlink(path_.c_str());
  }
  std::string Text() const {
    FlushLog(Deadline::After(std::chrono::minutes(1)));
    std::ostringstream text;
    text << std::ifstream(path_).rdbuf();
    return text.str();
  }
  bool Has(std::string_view part) const { return Text().find(part) != std::string::npos; }

 private:
  const std::string path_ = testing::TempDir() + "captured.log." + std::to_string(getpid());
};

}  // namespace muster
