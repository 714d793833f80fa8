// The answers of the control plane's thread to threads of the program: the failure, complete exchanges, the release.
//
// Threads: any. The Await functions BLOCK.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/base/bytes.h"
#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/base/unique_fd.h"

namespace muster::rendezvous {

// Begins the names of exchanges among programs: the number of earlier programs of the rank follows, then "/".
inline constexpr std::string_view kAmongPrograms = "program ";

class GroupAnswers {
 public:
  // `failure_fd`: an eventfd.
  explicit GroupAnswers(UniqueFd failure_fd) : failure_fd_(std::move(failure_fd)) {}
  GroupAnswers(const GroupAnswers&) = delete;
  GroupAnswers& operator=(const GroupAnswers&) = delete;

  // Of a failure and a release the first counts: a failed group also releases its ranks, when no rank is left.
  void Fail(const Error& error);
  void Release();
  // The exchange is complete.
  void Put(const std::string& exchange, std::vector<Bytes> by_rank);

  // Readable once the group has failed.
  int failure_fd() const { return failure_fd_.get(); }
  std::optional<Error> failure() const;
  // An exchange is taken once, also after a failure. Absent: neither has come by the deadline.
  std::optional<Result<std::vector<Bytes>>> AwaitExchange(const std::string& exchange, Deadline deadline);
  // The failure, if it came first. Absent: neither has come by the deadline.
  std::optional<Status> AwaitRelease(Deadline deadline);

 private:
  void Change(const auto& change);
  // Until `condition` holds, with `lock` held; false at the deadline.
  bool WaitFor(std::unique_lock<std::mutex>& lock, Deadline deadline, const std::function<bool()>& condition);

  const UniqueFd failure_fd_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Error> failure_;
  std::map<std::string, std::vector<Bytes>> exchanged_;
  bool released_ = false;
};

}  // namespace muster::rendezvous
