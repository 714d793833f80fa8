// muster secret: a fresh 256-bit job secret.
#include <fmt/core.h>

#include "bootstrap/cli/commands.h"
#include "bootstrap/cli/flags.h"
#include "comm/auth/secret.h"

namespace muster::cli {

void AddSecretCommand(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("secret", "a fresh 256-bit job secret");
  command->description("Print a fresh job secret, for rendezvous.auth: secret.");
  command->footer(
      "Example, in a batch script:\n  export MUSTER_SECRET=$(muster secret)\n  srun muster run -- ...");
  command->callback([&run] {
    run = [] {
      const Result<auth::JobSecret> secret = auth::JobSecret::Generate();
      if (!secret) return ReportError(secret.error());
      fmt::print("{}\n", secret->Text());
      return 0;
    };
  });
}

}  // namespace muster::cli
