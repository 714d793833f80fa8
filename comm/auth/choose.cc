#include "comm/auth/choose.h"

namespace muster::auth {
namespace {

constexpr const char* kSecretHint = "export MUSTER_SECRET=$(muster secret) in the batch script, before srun";

Result<AuthMethod> ChooseFreely(const AuthFacts& facts) {
  if (facts.munge_socket_present) return AuthMethod::kMunge;
  if (facts.secret_known) return AuthMethod::kSecret;
  if (!facts.several_nodes) return AuthMethod::kNone;
  return WithHint(
      Fail(Code::kAuthentication,
           "the ranks are on several nodes and cannot authenticate each other: this node has no "
           "munge "
           "socket at {} and no job secret is known",
           facts.munge_socket),
      fmt::format("{}; or start munged on every node; or, on a network you trust, set rendezvous.auth: none",
                  kSecretHint));
}

}  // namespace

Result<AuthMethod> ChooseAuth(const AuthFacts& facts) {
  switch (facts.configured) {
    case AuthMethod::kAuto:
      return ChooseFreely(facts);
    case AuthMethod::kMunge:
      if (facts.munge_socket_present) return AuthMethod::kMunge;
      return WithHint(
          Fail(Code::kAuthentication, "rendezvous.auth is munge, but this node has no munge socket at {}",
               facts.munge_socket),
          "start munged on this node, or bind-mount its socket's directory into the container");
    case AuthMethod::kSecret:
      if (facts.secret_known) return AuthMethod::kSecret;
      return WithHint(Fail(Code::kAuthentication, "rendezvous.auth is secret, but no job secret is known"),
                      kSecretHint);
    case AuthMethod::kNone:
      return AuthMethod::kNone;
  }
  return Fail(Code::kInternal, "rendezvous.auth has an unknown value {}", static_cast<int>(facts.configured));
}

}  // namespace muster::auth
