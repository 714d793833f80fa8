// Raised once, by any thread; those that wait for a program wait for this as well.
#pragma once

#include <sys/eventfd.h>

#include <cerrno>

#include "comm/base/error.h"
#include "comm/base/unique_fd.h"
#include "comm/system/descriptor_room.h"

namespace muster::map {

class StopFlag {
 public:
  StopFlag() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), error_number_(event_ ? 0 : errno) {}

  // Error: kSystem: it has no descriptor, and a thread that waits for it would not wake.
  Status Check() const {
    if (event_) return {};
    return WithHint(Fail(Code::kSystem, "cannot create an eventfd: {}", ErrnoText(error_number_)),
                    error_number_ == EMFILE ? DescriptorLimitHint() : "");
  }
  void Raise() const { eventfd_write(event_.get(), 1); }
  // Readable (POLLIN) from then on.
  int fd() const { return event_.get(); }

 private:
  UniqueFd event_;
  int error_number_;
};

}  // namespace muster::map
