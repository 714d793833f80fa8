#include "bootstrap/c/error.h"

#include <array>

namespace muster::c {
namespace {

struct Known {
  Code code;
  muster_code number;
};

constexpr auto kCodes = std::to_array<Known>({
    {Code::kUsage, MUSTER_USAGE},
    {Code::kNotLaunched, MUSTER_NOT_LAUNCHED},
    {Code::kBadEnvironment, MUSTER_BAD_ENVIRONMENT},
    {Code::kPeerLost, MUSTER_PEER_LOST},
    {Code::kInternal, MUSTER_INTERNAL},
    {Code::kSystem, MUSTER_SYSTEM},
    {Code::kDeadline, MUSTER_DEADLINE},
    {Code::kDisagreement, MUSTER_DISAGREEMENT},
    {Code::kAuthentication, MUSTER_AUTHENTICATION},
    {Code::kConfiguration, MUSTER_CONFIGURATION},
    {Code::kWorkFailed, MUSTER_WORK_FAILED},
});

const Known* FindCode(int number) {
  for (const Known& known : kCodes) {
    if (known.number == number) return &known;
  }
  return nullptr;
}

}  // namespace

muster_error* MakeError(const Error& error) {
  for (const Known& known : kCodes) {
    if (known.code == error.code) return new muster_error{known.number, error.message, error.hint};
  }
  return new muster_error{MUSTER_INTERNAL, error.message, error.hint};
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
  const muster::c::Known* known = muster::c::FindCode(code);
  // CodeName gives literals.
  return known == nullptr ? "unknown" : muster::CodeName(known->code).data();
}

int muster_exit_status(int code) {
  if (code == MUSTER_OK) return 0;
  const muster::c::Known* known = muster::c::FindCode(code);
  return muster::ExitStatus(known == nullptr ? muster::Code::kInternal : known->code);
}
