// run.stdin: all. Gives every program of a supervisor a copy of our standard input.
//
// The copies proceed at the speed of the slowest reader: at most 256 KiB wait here, beside what the pipes
// hold (64 KiB each). A program that has ended, or has closed its standard input, is not waited for.
//
// Lives on one EventLoop. Only a disk makes it wait, if our standard input is a file. SIGPIPE must be ignored
// (SignalRelay does that).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "comm/base/error.h"
#include "comm/base/unique_fd.h"
#include "comm/net/event_loop.h"

namespace muster::output {

class StdinCopy {
 public:
  // `source` is not owned, may be blocking, and may be closed: then it has ended.
  StdinCopy(net::EventLoop& loop, int source);
  StdinCopy(const StdinCopy&) = delete;
  StdinCopy& operator=(const StdinCopy&) = delete;
  ~StdinCopy();

  // The standard input of rank's program. All readers are added before Start. Error: kSystem.
  Result<UniqueFd> AddReader(int rank);
  void Start() { Pump(); }
  // Its program has ended.
  void Drop(int rank);

 private:
  struct Reader {
    UniqueFd pipe;
    uint64_t at = 0;  // of the stream: all before it is written
    uint32_t events = 0;
    bool refused = false;  // by epoll, and logged
  };

  void Pump();
  bool ReadSome();
  bool SourceIsReady() const;
  // A descriptor that waits is not watched.
  void PumpLater();
  bool WriteTo(Reader& reader);
  void Trim();
  void WatchSource();
  void WatchReader(int rank, Reader& reader);
  void Close(Reader& reader);
  uint64_t end() const { return begin_ + buffer_.size(); }

  net::EventLoop& loop_;
  UniqueFd source_;  // empty: it has ended
  bool is_socket_ = false;
  bool pollable_ = true;  // epoll refuses files: they are always ready
  bool refused_ = false;  // the source, which is no file; logged
  bool watched_ = false;
  bool pump_posted_ = false;
  net::Timer pump_timer_;
  std::map<int, Reader> readers_;
  std::string buffer_;
  uint64_t begin_ = 0;  // of the stream: the start of buffer_
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster::output
