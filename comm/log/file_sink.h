// The sink for log.file, and for a standard error that is a regular file. A write to a regular file blocks while its file
// system stalls, as NFS without its server; no flag prevents it. A thread therefore writes, and a stall does not stop the
// heartbeats of the logging process. A line is waited for briefly: normally it is written when Write returns. During a stall
// lines are kept; those for which there is no room are dropped, and counted in the file afterwards.
//
// The thread starts at the first line. Each line is one write(2), so that many processes can share the file. In a child of
// fork(2), which does not have the thread, and if the system has none to give, the caller writes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "comm/base/deadline.h"
#include "comm/base/unique_fd.h"

namespace muster {

class FileSink {
 public:
  // A line that the file did not take. `reason`: empty if it is that of the line before.
  struct Lost {
    std::string reason;
    std::string line;
  };

  // After a failed write.
  enum class Failed {
    kReturn,  // the line is Lost
    kRetry,   // with the next line and with Flush: there is no other place for it
  };

  // `file` is no regular file: O_NONBLOCK is set. `name`: in the line that counts what was dropped, which `complain` makes from
  // its sentence.
  FileSink(UniqueFd file, std::string_view name, Failed failed, std::string (*complain)(std::string_view));
  FileSink(const FileSink&) = delete;
  FileSink& operator=(const FileSink&) = delete;
  // Waits until the file is closed; during a stall not at all: kept lines are then written if it ends before the process.
  ~FileSink();

  // The result may have lines of earlier calls.
  std::vector<Lost> Write(std::string line);
  // At the end of a process: waits for the kept lines, at most until the deadline. They are lost 1 s after the first such
  // call. With an expired deadline this waits for nothing.
  std::vector<Lost> Flush(Deadline deadline);
  // The inode number when the sink was made; 0: no regular file.
  uint64_t number() const { return number_; }

 private:
  struct Shared;

  bool HasThread();

  const std::shared_ptr<Shared> shared_;
  uint64_t number_ = 0;
  int depth_ = -1;  // ForkDepth() of the process that has the thread
};

}  // namespace muster
