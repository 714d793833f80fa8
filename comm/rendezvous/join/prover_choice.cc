#include "comm/rendezvous/join/prover_choice.h"

#include "comm/auth/choose.h"
#include "comm/auth/munge_prover.h"

namespace muster::rendezvous {

Result<std::unique_ptr<auth::Prover>> ChooseProver(const JoinRequest& request, BlockingWorker& worker) {
  const std::optional<auth::JobSecret>& secret =
      request.secret ? request.secret : request.root_address_secret;
  const auth::AuthFacts facts{request.options.auth, auth::MungeSocketPresent(request.munge_socket),
                              request.munge_socket, secret.has_value(),
                              request.meeting.find_root != FindRoot::kSameNode};
  MUSTER_TRY(const AuthMethod method, auth::ChooseAuth(facts));
  switch (method) {
    case AuthMethod::kMunge: {
      auth::MungeProverOptions options;
      options.socket = request.munge_socket;
      options.uid = request.uid;
      return auth::MakeMungeProver(std::move(options), worker);
    }
    case AuthMethod::kSecret:
      return auth::MakeSecretProver(*secret);
    default:
      return auth::MakeNoneProver();
  }
}

}  // namespace muster::rendezvous
