#include "comm/nccl/nccl_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <thread>

#include "comm/base/error.h"
#include "comm/log/log.h"
#include "comm/system/pipe.h"
#include "comm/system/start_thread.h"

namespace muster::nccl {
namespace {

// Longer text without a line end counts as a line.
constexpr size_t kLongestLine = 16'384;

void LogNcclLine(std::string_view line) {
  const std::string_view message = MessageOfNcclLine(line);
  if (message.empty()) return;
  const bool warning = message.starts_with("NCCL WARN");
  LogEvent(warning ? LogLevel::kWarning : LogLevel::kInfo, "nccl", {}, "{}", message);
}

void Serve(const UniqueFd& pipe) {
  std::array<char, 4096> chunk{};
  std::string pending;
  while (true) {
    const ssize_t got = TEMP_FAILURE_RETRY(read(pipe.get(), chunk.data(), chunk.size()));
    if (got <= 0) return;
    pending.append(chunk.data(), static_cast<size_t>(got));
    size_t end = 0;
    while ((end = pending.find('\n')) != std::string::npos) {
      LogNcclLine(std::string_view(pending).substr(0, end));
      pending.erase(0, end + 1);
    }
    if (pending.size() > kLongestLine) {
      LogNcclLine(pending);
      pending.clear();
    }
  }
}

}  // namespace

std::string_view MessageOfNcclLine(std::string_view line) {
  const size_t start = line.find("NCCL ");
  return start == std::string_view::npos ? line : line.substr(start);
}

Result<std::string> OpenNcclLog() {
  MUSTER_TRY(Pipe pipe, MakePipe());
  const auto reader = std::make_shared<UniqueFd>(std::move(pipe.read_end));
  MUSTER_TRY(std::thread thread,
             StartThread("the thread that reads NCCL's log", [reader] { Serve(*reader); }));
  thread.detach();
  // It stays open: NCCL opens it again by this path, and does not report when it is done. Not "self": programs that this
  // one starts inherit the path, not the descriptor. The link has this process's number in this /proc.
  std::array<char, 32> self{};
  if (readlink("/proc/self", self.data(), self.size() - 1) < 0)
    return Fail(Code::kSystem, "cannot read /proc/self: {}", ErrnoText(errno));
  return fmt::format("/proc/{}/fd/{}", self.data(), pipe.write_end.Release());
}

}  // namespace muster::nccl
