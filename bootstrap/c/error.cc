#include "bootstrap/c/error.h"

#include <optional>

namespace muster::c {
namespace {

// The numbers of muster.h are those of Code, from 1.
static_assert(MUSTER_USAGE == static_cast<int>(Code::kUsage) + 1 &&
              MUSTER_NOT_LAUNCHED == static_cast<int>(Code::kNotLaunched) + 1 &&
              MUSTER_BAD_ENVIRONMENT == static_cast<int>(Code::kBadEnvironment) + 1 &&
              MUSTER_PEER_LOST == static_cast<int>(Code::kPeerLost) + 1 &&
              MUSTER_INTERNAL == static_cast<int>(Code::kInternal) + 1 &&
              MUSTER_SYSTEM == static_cast<int>(Code::kSystem) + 1 &&
              MUSTER_DEADLINE == static_cast<int>(Code::kDeadline) + 1 &&
              MUSTER_DISAGREEMENT == static_cast<int>(Code::kDisagreement) + 1 &&
              MUSTER_AUTHENTICATION == static_cast<int>(Code::kAuthentication) + 1 &&
              MUSTER_CONFIGURATION == static_cast<int>(Code::kConfiguration) + 1 &&
              MUSTER_WORK_FAILED == static_cast<int>(Code::kWorkFailed) + 1);

std::optional<Code> CodeOf(int number) {
  const bool known = number >= MUSTER_USAGE && number <= MUSTER_WORK_FAILED;
  return known ? std::optional(static_cast<Code>(number - 1)) : std::nullopt;
}

}  // namespace

muster_error* MakeError(const Error& error) {
  const int number = static_cast<int>(error.code) + 1;
  return new muster_error{CodeOf(number) ? number : MUSTER_INTERNAL, error.message, error.hint};
}

muster_error* OutOfMemory() {
  // Short enough to need no memory of its own.
  static muster_error error{MUSTER_SYSTEM, "out of memory", ""};
  return &error;
}

}  // namespace muster::c

int muster_error_code(const muster_error* error) { return error == nullptr ? MUSTER_OK : error->code; }

const char* muster_error_message(const muster_error* error) {
  return error == nullptr ? "" : error->message.c_str();
}

const char* muster_error_hint(const muster_error* error) {
  return error == nullptr ? "" : error->hint.c_str();
}

void muster_error_free(muster_error* error) {
  if (error != muster::c::OutOfMemory()) delete error;
}

const char* muster_code_name(int code) {
  if (code == MUSTER_OK) return "ok";
  const auto known = muster::c::CodeOf(code);
  // CodeName gives literals.
  return known ? muster::CodeName(*known).data() : "unknown";
}

int muster_exit_status(int code) {
  if (code == MUSTER_OK) return 0;
  return muster::ExitStatus(muster::c::CodeOf(code).value_or(muster::Code::kInternal));
}
