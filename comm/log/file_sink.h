// The sink for a file. Each line is one write(2) at its end, so that many processes can share the file. If a
// write fails (a full disk, a quota), the line goes to standard error instead. A line with the reason
// precedes it, once for each beginning of such failures: a log is no reason to end a job.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "comm/base/error.h"
#include "comm/base/unique_fd.h"
#include "comm/log/log_sink.h"

namespace muster {

class FileSink final : public LogSink {
 public:
  // Error: kSystem, names the path.
  static Result<std::shared_ptr<FileSink>> Open(const std::string& path, std::shared_ptr<LogSink> fallback,
                                                LineAboutLog complain);

  void Write(std::string_view line) override;

 private:
  FileSink(std::string path, UniqueFd file, std::shared_ptr<LogSink> fallback, LineAboutLog complain);
  void Complain(int error_number);

  const std::string path_;
  UniqueFd file_;
  std::shared_ptr<LogSink> fallback_;
  LineAboutLog complain_;
  bool failing_ = false;
};

}  // namespace muster
