// The programs at work, each a process group: a signal reaches them from another thread.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <mutex>
#include <set>
#include <vector>

namespace muster::map {

class ProgramsAtWork {
 public:
  // A program, from before its start until before it is reaped: its number may then mean another one.
  class Entry {
   public:
    explicit Entry(ProgramsAtWork& all) : all_(all) {
      const std::lock_guard lock(all_.mutex_);
      all_.entries_.insert(this);
    }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    ~Entry() {
      const std::lock_guard lock(all_.mutex_);
      all_.entries_.erase(this);
    }

    // Sends it the signals that came during its start.
    void HasStarted(pid_t group) {
      const std::lock_guard lock(all_.mutex_);
      group_ = group;
      for (const int number : early_) kill(-group, number);
    }

   private:
    friend class ProgramsAtWork;
    ProgramsAtWork& all_;
    pid_t group_ = 0;
    std::vector<int> early_;
  };

  void Signal(int number) {
    const std::lock_guard lock(mutex_);
    for (Entry* const entry : entries_) {
      if (entry->group_ == 0) {
        entry->early_.push_back(number);
      } else {
        kill(-entry->group_, number);
      }
    }
  }

 private:
  std::mutex mutex_;
  std::set<Entry*> entries_;
};

}  // namespace muster::map
