#include "bootstrap/cli/build_facts.h"

#include <features.h>

#include "comm/base/version.h"

#define MUSTER_TEXT_OF(word) #word
#define MUSTER_TEXT(word) MUSTER_TEXT_OF(word)

namespace muster::cli {
namespace {

// Defined by deploy/release/build. A development build has neither, so that a new commit compiles nothing anew.
#if defined(MUSTER_COMMIT) && defined(MUSTER_DATE)
constexpr const char* kCommit = MUSTER_TEXT(MUSTER_COMMIT) ", " MUSTER_TEXT(MUSTER_DATE);
#else
constexpr const char* kCommit = "development build";
#endif

#if defined(__x86_64__)
constexpr const char* kProcessor = "x86_64";
#elif defined(__aarch64__)
constexpr const char* kProcessor = "aarch64";
#else
constexpr const char* kProcessor = "another processor";
#endif

constexpr const char* kLibc = "glibc " MUSTER_TEXT(__GLIBC__) "." MUSTER_TEXT(__GLIBC_MINOR__) " or later";

#if defined(MUSTER_HAS_NCCL)
constexpr const char* kBackends = "socket nccl";
#else
constexpr const char* kBackends = "socket";
#endif

}  // namespace

std::string BuildFacts() {
  std::string text = "muster ";
  text.append(kVersion).append("\ncommit: ").append(kCommit);
  text.append("\nplatform: linux ").append(kProcessor).append(", ").append(kLibc);
  text.append("\nfeatures: ").append(kBackends).append(" munge secret pmix pmi torch-store");
  return text;
}

}  // namespace muster::cli
