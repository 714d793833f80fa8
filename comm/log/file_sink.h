// Where log lines go when they go to a file: each is one write(2) at its end, so that many processes can
// share the file. What cannot be written (a full disk, a quota) goes to standard error instead, after a line
// that says so, once for each time that it begins to fail: a log is no reason to end a job.
#pragma once

#include <spdlog/sinks/base_sink.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "comm/base/error.h"
#include "comm/base/unique_fd.h"

namespace muster {

class FileSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  // `complain` makes a line of a sentence, in the log's format. Error: kSystem, names the path.
  static Result<std::shared_ptr<FileSink>> Open(const std::string& path, spdlog::sink_ptr fallback,
                                                std::function<std::string(std::string_view)> complain);

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override {}

 private:
  FileSink(std::string path, UniqueFd file, spdlog::sink_ptr fallback,
           std::function<std::string(std::string_view)> complain);
  void Complain(int error_number);

  const std::string path_;
  UniqueFd file_;
  spdlog::sink_ptr fallback_;
  std::function<std::string(std::string_view)> complain_;
  bool failing_ = false;
};

}  // namespace muster
