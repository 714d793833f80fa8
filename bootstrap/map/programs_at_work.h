// The programs at work, each a process group: a signal reaches them from another thread.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <mutex>
#include <set>

namespace muster::map {

class ProgramsAtWork {
 public:
  // As long as it lives, which ends before the process is reaped: its number may then mean another one.
  class Entry {
   public:
    Entry(ProgramsAtWork& all, pid_t group) : all_(all), group_(group) {
      const std::lock_guard lock(all_.mutex_);
      all_.groups_.insert(group_);
    }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    ~Entry() {
      const std::lock_guard lock(all_.mutex_);
      all_.groups_.erase(group_);
    }

   private:
    ProgramsAtWork& all_;
    const pid_t group_;
  };

  void Signal(int number) const {
    const std::lock_guard lock(mutex_);
    for (const pid_t group : groups_) kill(-group, number);
  }

 private:
  mutable std::mutex mutex_;
  std::set<pid_t> groups_;
};

}  // namespace muster::map
