// Raised once, by any thread; those that wait for a program wait for this as well.
#pragma once

#include <sys/eventfd.h>

#include "comm/base/unique_fd.h"

namespace muster::map {

class StopFlag {
 public:
  StopFlag() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  void Raise() const { static_cast<void>(eventfd_write(event_.get(), 1)); }
  // Readable (POLLIN) from then on.
  int fd() const { return event_.get(); }

 private:
  UniqueFd event_;
};

}  // namespace muster::map
