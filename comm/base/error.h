// Errors as values: every fallible function of muster returns Result<T> and nothing throws across a public
// boundary.
//
// An Error describes a failure in one sentence and names its subject (variable, peer rank and node, path,
// time-out with its length). `hint` is the remedy. The code decides the exit status (`muster --help`).
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace muster {

enum class Code {
  kUsage,           // unknown flag, missing argument
  kNotLaunched,     // an allocation, but this process was not launched as one of its ranks
  kBadEnvironment,  // malformed or contradictory environment
  kPeerLost,        // another rank ended, left early or fell silent
  kInternal,        // a bug in muster
  kSystem,          // the operating system refused
  kDeadline,        // time ran out; the message names the missing ranks
  kDisagreement,    // ranks disagree (duplicate rank, world size, configuration, collective)
  kAuthentication,  // a peer could not prove its identity
  kConfiguration,   // bad YAML, flag value or MUSTER_* value
  kWorkFailed,      // programs exited with 0, but their work is not done (run.expect)
};

// The process exit status for a code: 64, 64, 65, 69, 70, 71, 75, 76, 77, 78, 79 in the order above.
int ExitStatus(Code code);

// The stable name used in --json and in logs ("not_launched", "peer_lost", ...).
std::string_view CodeName(Code code);

struct Error {
  Code code = Code::kInternal;
  std::string message;
  std::string hint;  // the remedy; may be empty

  friend bool operator==(const Error&, const Error&) = default;
};

// "message (hint)" for users.
std::string ToString(const Error& error);

template <typename T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

// return Fail(Code::kSystem, "cannot bind {}: {}", address, reason);
template <typename... Args>
tl::unexpected<Error> Fail(Code code, fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<Error>(Error{code, fmt::format(format, std::forward<Args>(args)...), {}});
}

inline tl::unexpected<Error> Fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

// The same failure with advice attached.
tl::unexpected<Error> WithHint(tl::unexpected<Error> failure, std::string hint);

// The text of an errno value, thread-safe.
std::string ErrnoText(int error_number);

}  // namespace muster

#define MUSTER_CONCAT_INNER(a, b) a##b
#define MUSTER_CONCAT(a, b) MUSTER_CONCAT_INNER(a, b)

// MUSTER_TRY(auto x, F()): x is F()'s value, or this function returns F()'s error. MUSTER_CHECK(F()) is the
// same without a value.
#define MUSTER_TRY(declaration, expression) \
  MUSTER_TRY_INNER(declaration, expression, MUSTER_CONCAT(muster_try_, __LINE__))
#define MUSTER_TRY_INNER(declaration, expression, temporary)                              \
  auto temporary = (expression);                                                          \
  if (!temporary) return ::tl::unexpected<::muster::Error>(std::move(temporary).error()); \
  declaration = *std::move(temporary)
#define MUSTER_CHECK(expression)                                                  \
  do {                                                                            \
    if (auto muster_status = (expression); !muster_status)                        \
      return ::tl::unexpected<::muster::Error>(std::move(muster_status).error()); \
  } while (false)
