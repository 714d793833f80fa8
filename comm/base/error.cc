#include "comm/base/error.h"

#include <array>
#include <cstring>

namespace muster {
namespace {

struct CodeFacts {
  std::string_view name;
  int exit_status;
};

constexpr std::array<CodeFacts, 11> kCodes = {{
    {"usage", 64},
    {"not_launched", 64},
    {"bad_environment", 65},
    {"peer_lost", 69},
    {"internal", 70},
    {"system", 71},
    {"deadline", 75},
    {"disagreement", 76},
    {"authentication", 77},
    {"configuration", 78},
    {"work_failed", 79},
}};

const CodeFacts& Facts(Code code) { return kCodes.at(static_cast<size_t>(code)); }

}  // namespace

int ExitStatus(Code code) { return Facts(code).exit_status; }

std::string_view CodeName(Code code) { return Facts(code).name; }

std::string ToString(const Error& error) {
  if (error.hint.empty()) return error.message;
  return error.message + " (" + error.hint + ")";
}

tl::unexpected<Error> WithHint(tl::unexpected<Error> failure, std::string hint) {
  failure.value().hint = std::move(hint);
  return failure;
}

std::string ErrnoText(int error_number) {
  std::array<char, 128> buffer{};
  return strerror_r(error_number, buffer.data(), buffer.size());
}

}  // namespace muster
