#include "comm/rendezvous/join/prover_choice.h"

#include <memory>
#include <string>

#include "comm/auth/choose.h"
#include "comm/auth/munge.h"
#include "comm/auth/munge_prover.h"
#include "comm/base/parse.h"
#include "comm/system/bounded_call.h"

namespace muster::rendezvous {
namespace {

// Otherwise each handshake would fail for it, until timeouts.rendezvous. The proofs need the library a moment
// later in any case. Error: a library that does not load in time may do so on other nodes, which then choose munge.
Result<std::string> MungeLibraryProblem(const JoinRequest& request) {
  const Duration limit = request.timeouts.handshake;
  // Shared: the call is abandoned if a library is on a file system that hangs.
  const auto problem = std::make_shared<std::string>();
  const auto load = [problem] {
    const Result<auth::MungeApi> api = auth::LoadMunge();
    if (!api) *problem = api.error().message;
  };
  // It is needed even if no thread can be had.
  if (RunAnywhereWithin(Deadline::After(limit), load)) return *problem;
  return WithHint(Fail(Code::kAuthentication, "{} has not loaded within {}: its file system may be stalled",
                       auth::kMungeLibrary, FormatDuration(limit)),
                  "check the file system of libmunge, or set rendezvous.auth: secret on every rank");
}

Result<auth::AuthFacts> FactsOf(const JoinRequest& request, bool secret_known) {
  auth::AuthFacts facts{request.options.auth, auth::MungeSocketPresent(request.munge_socket),
                        request.munge_socket, secret_known, request.meeting.find_root != FindRoot::kSameNode};
  const bool may_be_munge =
      request.options.auth == AuthMethod::kAuto || request.options.auth == AuthMethod::kMunge;
  if (facts.several_nodes && facts.munge_socket_present && may_be_munge) {
    MUSTER_TRY(facts.munge_library_problem, MungeLibraryProblem(request));
  }
  return facts;
}

}  // namespace

Result<std::unique_ptr<auth::Prover>> ChooseProver(const JoinRequest& request, BlockingWorker& worker) {
  const std::optional<auth::JobSecret>& secret =
      request.secret ? request.secret : request.root_address_secret;
  MUSTER_TRY(const auth::AuthFacts facts, FactsOf(request, secret.has_value()));
  MUSTER_TRY(const AuthMethod method, auth::ChooseAuth(facts));
  switch (method) {
    case AuthMethod::kMunge: {
      auth::MungeProverOptions options;
      options.socket = request.munge_socket;
      options.uid = request.uid;
      if (request.secret) options.psk = request.secret->Psk();
      return auth::MakeMungeProver(std::move(options), worker);
    }
    case AuthMethod::kSecret:
      return auth::MakeSecretProver(*secret);
    default:
      return auth::MakeNoneProver();
  }
}

}  // namespace muster::rendezvous
