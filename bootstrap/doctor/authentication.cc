#include <fmt/core.h>
#include <unistd.h>

#include <memory>

#include "bootstrap/doctor/findings.h"
#include "comm/auth/choose.h"
#include "comm/auth/munge.h"
#include "comm/auth/proof.h"
#include "comm/system/bounded_call.h"

namespace muster::doctor {
namespace {

struct Tried {
  std::string library_problem;
  Status credential;
};

void MakeCredential(const std::string& socket, Tried& tried) {
  const Result<auth::MungeApi> api = auth::LoadMunge();
  if (!api) {
    tried.library_problem = api.error().message;
    tried.credential = tl::unexpected(api.error());
    return;
  }
  const Result<Bytes> made = auth::Munge(*api, socket).Encode({}, getuid());
  if (!made) tried.credential = tl::unexpected(made.error());
}

std::string Describe(AuthMethod method, const AuthenticationFacts& facts) {
  switch (method) {
    case AuthMethod::kMunge:
      return "munge: munged makes credentials, which prove the user";
    case AuthMethod::kSecret:
      if (!facts.munge_library_problem.empty())
        return fmt::format("MUSTER_SECRET; no munge: {}", facts.munge_library_problem);
      return facts.munge_socket_present ? "MUSTER_SECRET, as set in rendezvous.auth"
                                        : "MUSTER_SECRET; there is no munge";
    default:
      return "none: any process that reaches the root's port can join";
  }
}

}  // namespace

AuthenticationFacts LookAtAuthentication(const std::string& munge_socket, bool secret_known,
                                         Deadline deadline) {
  AuthenticationFacts facts{munge_socket, auth::MungeSocketPresent(munge_socket), {}, secret_known};
  if (!facts.munge_socket_present) return facts;
  // Shared: a munged that hangs leaves the call behind.
  const auto tried = std::make_shared<Tried>();
  const Status ended =
      RunWithin(deadline, {Code::kDeadline, fmt::format("munged does not answer at {}", munge_socket)},
                [tried, munge_socket] { MakeCredential(munge_socket, *tried); });
  facts.munge = ended ? tried->credential : Fail(ended.error());
  if (ended) facts.munge_library_problem = tried->library_problem;
  return facts;
}

Finding JudgeAuthentication(const AuthenticationFacts& facts, AuthMethod configured) {
  Finding finding{.subject = "identity"};
  const Result<AuthMethod> chosen =
      auth::ChooseAuth({configured, facts.munge_socket_present, facts.munge_socket, facts.secret_known,
                        /*several_nodes=*/true, facts.munge_library_problem});
  finding.facts = {{"munge", !facts.munge_socket_present ? "absent"
                             : facts.munge               ? "answers"
                                                         : "fails"},
                   {"secret", facts.secret_known ? "set" : "not set"},
                   {"method", std::string(chosen ? auth::AuthMethodName(*chosen) : "none that works")}};
  if (chosen && *chosen == AuthMethod::kMunge && !facts.munge) {
    finding.health = Health::kProblem;
    finding.found = facts.munge.error().message;
    finding.cost = "groups of several nodes do not form";
    finding.remedy = facts.munge.error().hint;
    if (finding.remedy.empty())
      finding.remedy = "start munged, or set a MUSTER_SECRET and rendezvous.auth: secret";
    return finding;
  }
  if (!chosen) {
    finding.health = Health::kNote;
    finding.found = facts.munge_socket_present
                        ? chosen.error().message
                        : fmt::format("no munge socket at {}, and no MUSTER_SECRET", facts.munge_socket);
    finding.cost =
        "groups of several nodes do not form, unless the launcher's own server or store gives them a secret";
    finding.remedy = "in the batch script: export MUSTER_SECRET=$(muster secret)";
    return finding;
  }
  finding.found = Describe(*chosen, facts);
  if (*chosen == AuthMethod::kNone) {
    finding.health = Health::kNote;
    finding.cost = "strangers can take part in a job";
    finding.remedy = "rendezvous.auth: auto";
  }
  return finding;
}

}  // namespace muster::doctor
