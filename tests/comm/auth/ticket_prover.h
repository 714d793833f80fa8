// A prover that works like munge's without munged: its proof is a keyed hash over role and transcript.
#pragma once

#include "comm/auth/crypto.h"
#include "comm/auth/proof.h"

namespace muster::auth {

class TicketProver final : public Prover {
 public:
  AuthMethod method() const override { return AuthMethod::kMunge; }
  ByteView psk() const override { return {}; }
  Pending Make(const std::string&, Role role, ByteView transcript_hash,
               std::function<void(Result<Bytes>)> done) override {
    const Digest ticket = Ticket(role, transcript_hash);
    done(Bytes(ticket.begin(), ticket.end()));
    return nullptr;
  }
  Pending Check(const std::string&, Role peer_role, ByteView transcript_hash, ByteView proof,
                std::function<void(Status)> done) override {
    const bool right = EqualInConstantTime(proof, Ticket(peer_role, transcript_hash));
    done(right ? Status() : Fail(Code::kAuthentication, "a ticket for another handshake"));
    return nullptr;
  }

 private:
  static Digest Ticket(Role role, ByteView transcript_hash) {
    const auto role_byte = static_cast<uint8_t>(role);
    return Blake2b(AsBytes("the cluster's key"), {ByteView(&role_byte, 1), transcript_hash});
  }
};

}  // namespace muster::auth
