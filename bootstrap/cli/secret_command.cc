// muster secret: a fresh 256-bit job secret.
#include "bootstrap/cli/commands.h"
#include "bootstrap/cli/flags.h"
#include "bootstrap/process/standard_streams.h"
#include "comm/auth/secret.h"

namespace muster::cli {
namespace {

constexpr CommandText kText = {
    .details =
        R"(The secret has 256 bits. Ranks that share it in MUSTER_SECRET authenticate each other with it if MUNGE does not run
(rendezvous.auth: secret).)",
    .examples = R"(export MUSTER_SECRET=$(muster secret)   # in the batch script, before srun muster run)",
};

Result<int> PrintSecret() {
  MUSTER_TRY(const auth::JobSecret secret, auth::JobSecret::Generate());
  MUSTER_CHECK(process::Print(secret.Text() + "\n"));
  return 0;
}

}  // namespace

CommandText AddSecretCommand(Options& /*options*/, Run& run) {
  run = [] { return StatusOf(PrintSecret()); };
  return kText;
}

}  // namespace muster::cli
