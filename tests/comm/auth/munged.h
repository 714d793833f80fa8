// A real munged of a test's own: private socket, private key, ended with the test. It needs the munge package
// (munged).
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "comm/base/error.h"
#include "comm/base/unique_fd.h"

namespace muster::auth {

class Munged {
 public:
  // Returns when it listens. The error has the output of munged.
  static Result<std::unique_ptr<Munged>> Start();
  Munged(const Munged&) = delete;
  Munged& operator=(const Munged&) = delete;
  ~Munged();

  const std::string& socket() const { return socket_; }
  // Ends the daemon; the socket's directory stays.
  void Stop();

 private:
  Munged() = default;
  Status MakeDirectoryAndKey();
  Status Spawn();
  Status AwaitListening();

  std::string directory_;
  std::string socket_;
  pid_t pid_ = -1;
  UniqueFd log_;  // stays open: a munged that cannot log ends
};

}  // namespace muster::auth
