#include "comm/auth/choose.h"

namespace muster::auth {
namespace {

constexpr const char* kSecretHint = "export MUSTER_SECRET=$(muster secret) in the batch script, before srun";

constexpr const char* kLibraryHint = "install libmunge2 on every node; for a container, in its image";

bool HasMunge(const AuthFacts& facts) {
  return facts.munge_socket_present && facts.munge_library_problem.empty();
}

// A container often has the socket of its node, and no library.
std::string WhyNotMunge(const AuthFacts& facts) {
  return facts.munge_socket_present ? facts.munge_library_problem
                                    : fmt::format("this node has no munge socket at {}", facts.munge_socket);
}

Result<AuthMethod> ChooseFreely(const AuthFacts& facts) {
  if (HasMunge(facts)) return AuthMethod::kMunge;
  if (facts.secret_known) return AuthMethod::kSecret;
  if (!facts.several_nodes) return AuthMethod::kNone;
  return WithHint(Fail(Code::kAuthentication,
                       "the ranks may be on several nodes and cannot authenticate each other: {} and no job "
                       "secret is known",
                       WhyNotMunge(facts)),
                  fmt::format("{}; or {}; or, on a network you trust, set rendezvous.auth: none", kSecretHint,
                              facts.munge_socket_present ? kLibraryHint : "start munged on every node"));
}

}  // namespace

Result<AuthMethod> ChooseAuth(const AuthFacts& facts) {
  switch (facts.configured) {
    case AuthMethod::kAuto:
      return ChooseFreely(facts);
    case AuthMethod::kMunge:
      if (HasMunge(facts)) return AuthMethod::kMunge;
      return WithHint(
          Fail(Code::kAuthentication, "rendezvous.auth is munge, but {}", WhyNotMunge(facts)),
          facts.munge_socket_present
              ? kLibraryHint
              : "start munged on this node, or bind-mount its socket's directory into the container");
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
