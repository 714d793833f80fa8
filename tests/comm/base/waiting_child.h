// A child of fork(2) that does nothing until it is ended, as a worker that outlives the work of its parent.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

namespace muster {

class WaitingChild {
 public:
  WaitingChild() {
    EXPECT_EQ(pipe(ends_.data()), 0);
    pid_ = fork();
    if (pid_ == 0) {
      close(ends_[1]);
      char end = 0;
      _exit(read(ends_[0], &end, 1) == 0 ? 0 : 1);
    }
    close(ends_[0]);
  }
  WaitingChild(const WaitingChild&) = delete;
  WaitingChild& operator=(const WaitingChild&) = delete;
  ~WaitingChild() {
    close(ends_[1]);
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    EXPECT_EQ(status, 0) << "it ended before";
  }

 private:
  std::array<int, 2> ends_{};
  pid_t pid_ = -1;
};

}  // namespace muster
