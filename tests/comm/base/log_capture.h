// Lines of the log during its life, which a test reads meanwhile. One at a time: a process has one log.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "comm/base/deadline.h"
#include "comm/base/unique_fd.h"
#include "comm/log/log.h"
#include "comm/log/rejection_log.h"

namespace muster {

class LogCapture {
 public:
  explicit LogCapture(LogLevel level = LogLevel::kInfo) {
    SetUpLog({level, LogFormat::kText, path_});
    RejectionLog::ResetForTest();
  }
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
  // In memory: on a disk that is synchronised a line may take longer than the log waits for it.
  static std::string MakeFile() {
    const std::string folder = access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : testing::TempDir();
    std::string path = folder + "/captured.log.XXXXXX";
    const UniqueFd file(mkostemp(path.data(), O_CLOEXEC));
    EXPECT_TRUE(file) << path;
    return path;
  }

  const std::string path_ = MakeFile();
};

}  // namespace muster
