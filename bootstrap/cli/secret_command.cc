// muster secret: a fresh 256-bit job secret.
#include <fmt/core.h>

#include "bootstrap/cli/commands.h"
#include "bootstrap/cli/flags.h"
#include "comm/auth/secret.h"

namespace muster::cli {
namespace {

constexpr CommandText kText = {
    .details =
        R"(The secret has 256 bits. Ranks that share it in MUSTER_SECRET authenticate each other with it if MUNGE does not run
(rendezvous.auth: secret).)",
    .examples = R"(export MUSTER_SECRET=$(muster secret)   # in the batch script, before srun muster run)",
};

}  // namespace

CommandText AddSecretCommand(Options& /*options*/, Run& run) {
  run = [] {
    const Result<auth::JobSecret> secret = auth::JobSecret::Generate();
    if (!secret) return ReportError(secret.error());
    fmt::print("{}\n", secret->Text());
    return 0;
  };
  return kText;
}

}  // namespace muster::cli
