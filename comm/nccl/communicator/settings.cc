#include "comm/nccl/communicator/settings.h"

#include <unistd.h>

#include "comm/log/log.h"

namespace muster::nccl {

void EndProcess(const Error& error) {
  LogEvent(LogLevel::kError, "error", {{"code", CodeName(error.code)}, {"hint", error.hint}}, "{}",
           ToString(error));
  _exit(ExitStatus(error.code));
}

}  // namespace muster::nccl
