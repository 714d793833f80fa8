// A destination of programs' output: one of our standard streams, to which several programs' output goes, or a log
// file. Text of one call is written in one piece.
//
// Lives on one EventLoop and does not block: text waits here until the reader takes it, and callers check
// full() before they add more. A regular file is written by `files`, because its disk or its server may stall:
// heartbeats must go on. Short lines are written whole (PIPE_BUF), so that they stay whole beside the output of
// other processes to the same pipe.
//
// If a write fails (a full disk, a quota), the text is lost, `losses` has it, and later text is tried again. If the
// reader has gone, everything is dropped. SIGPIPE and SIGXFSZ must be ignored.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/output/output_losses.h"
#include "comm/base/deadline.h"
#include "comm/base/unique_fd.h"
#include "comm/net/event_loop.h"
#include "comm/system/blocking_worker.h"

namespace muster::output {

// S_IFIFO, S_IFREG and so on; 0: not open.
mode_t TypeOf(int fd);
// "standard output (/scratch/out.txt)"; without a path if it is no file.
std::string NameOfStream(std::string_view stream, int fd);

class Console {
 public:
  struct Params {
    net::EventLoop& loop;
    BlockingWorker& files;
    OutputLosses& losses;
    OutputKind kind = OutputKind::kOut;
    std::string name;  // for messages
    // No regular file, and full for so long: given up. Zero: the reader is waited for.
    Duration patience = Duration::zero();
  };

  // `fd` may be blocking: of a pipe or terminal another description is used that does not block. Empty: gone.
  Console(Params params, UniqueFd fd);
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;
  ~Console();

  void Write(std::string_view bytes);
  // The queue is full: callers add nothing.
  bool full() const { return queued() >= kMostPending; }
  // Once, when it is not full again.
  void WhenRoom(std::function<void()> go_on) { waiting_.push_back(std::move(go_on)); }
  bool idle() const { return queued() == 0; }
  // Called whenever the queue becomes empty.
  void OnIdle(std::function<void()> on_idle) { on_idle_ = std::move(on_idle); }
  // Its reader has gone.
  bool gone() const { return !fd_; }
  // The queue is lost for this reason, and so is all that follows.
  void GiveUp(const std::string& reason);

 private:
  static constexpr size_t kMostPending = size_t{256} * 1024;

  struct FileWrite;

  size_t queued() const;
  bool Ready() const;
  bool WriteSome();
  void WriteToFile();
  void Flush();
  void Settle();
  void Watch(bool on);
  void KeepPatience(bool moved);
  void OnError(int error_number, size_t lost);
  void Close();

  Params params_;
  std::shared_ptr<const UniqueFd> fd_;  // of our own: an event loop has one handler for each. Null: gone
  bool is_file_ = false;
  bool is_socket_ = false;
  bool is_terminal_ = false;
  bool watched_ = false;
  std::string pending_;
  size_t written_ = 0;                    // of pending_
  std::shared_ptr<FileWrite> in_flight_;  // what `files` writes now
  net::Timer patience_timer_;
  std::vector<std::function<void()>> waiting_;
  std::function<void()> on_idle_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster::output
