#include "comm/rendezvous/join/prover_choice.h"

#include "comm/auth/choose.h"
#include "comm/auth/munge_prover.h"

namespace muster {

Result<std::unique_ptr<Prover>> ChooseProver(const JoinRequest& request, BlockingWorker& worker) {
  const std::optional<JobSecret>& secret = request.secret ? request.secret : request.root_address_secret;
  const AuthFacts facts{request.options.auth, MungeSocketPresent(request.munge_socket), request.munge_socket,
                        secret.has_value(), request.meeting.find_root != FindRoot::kSameNode};
  MUSTER_TRY(const AuthMethod method, ChooseAuth(facts));
  switch (method) {
    case AuthMethod::kMunge: {
      MungeProverOptions options;
      options.socket = request.munge_socket;
      options.uid = request.uid;
      return MakeMungeProver(std::move(options), worker);
    }
    case AuthMethod::kSecret:
      return MakeSecretProver(*secret);
    default:
      return MakeNoneProver();
  }
}

}  // namespace muster
