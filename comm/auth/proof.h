// The proof of identity of one side of a handshake, for each method of rendezvous.auth:
//   munge   a munge credential over the transcript: "I am this uid on this cluster" (munge_prover.h)
//   secret  knowledge of the job secret, mixed into the keys; the proof itself is empty
//   none    nothing; the channel is still sealed, but any process may be at its other end
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "comm/auth/secret.h"
#include "comm/base/bytes.h"
#include "comm/base/error.h"
#include "comm/options.h"

namespace muster::auth {

// The hint for a proof that is too old or from the future: neither side's user is at fault.
inline constexpr const char* kSetTheClocks = "set the clocks of the nodes (chrony, ntpd)";

// The client connects, the server (the root) listens.
enum class Role : uint8_t { kClient = 1, kServer = 2 };

// A longer proof is refused before it is read. A munge credential has some 250 bytes.
inline constexpr size_t kMaxProofBytes = 65536;

// "munge", "secret", "none", "auto": as written in rendezvous.auth.
std::string_view AuthMethodName(AuthMethod method);

// One Prover serves any number of handshakes; it must outlive them. Used from one thread. `done` is called on
// that thread, at most once, either before Make/Check return or later; a caller that may be gone by then
// guards itself. The views given to Make and Check are good only until these return.
//
// If an answer takes a while, `source` (the peer's host) has its turn among all sources, and destroying the result withdraws
// the question; null: it is answered, or cannot be withdrawn.
class Prover {
 public:
  using Pending = std::shared_ptr<void>;

  Prover() = default;
  Prover(const Prover&) = delete;
  Prover& operator=(const Prover&) = delete;
  virtual ~Prover() = default;

  // Never kAuto.
  virtual AuthMethod method() const = 0;
  // Mixed into the keys of every handshake; empty if the method has none.
  virtual ByteView psk() const = 0;

  // This side's proof, as `role`. Error: kAuthentication, this node's own fault (munged is not running).
  virtual Pending Make(const std::string& source, Role role, ByteView transcript_hash,
                       std::function<void(Result<Bytes>)> done) = 0;
  // Checks that `proof` is the one of the side `peer_role` for this transcript. Error: kAuthentication, with
  // the reason.
  virtual Pending Check(const std::string& source, Role peer_role, ByteView transcript_hash, ByteView proof,
                        std::function<void(Status)> done) = 0;
};

std::unique_ptr<Prover> MakeNoneProver();
std::unique_ptr<Prover> MakeSecretProver(const JobSecret& secret);

}  // namespace muster::auth
