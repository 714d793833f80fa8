#include "comm/auth/handshake/handshake.h"

#include <utility>

#include "comm/auth/handshake/handshake_machine.h"

namespace muster::auth {

Handshake::Handshake(Params params, Prover& prover, EphemeralKey& key, Send send, Done done)
    : machine_(params.role == Role::kClient
                   ? MakeClientMachine(std::move(params), prover, key, std::move(send), std::move(done))
                   : MakeServerMachine(std::move(params), prover, key, std::move(send), std::move(done))) {}

Handshake::~Handshake() { machine_->Abandon(); }

// The copies keep the machine while a callback destroys this Handshake.
void Handshake::Start() {
  const auto machine = machine_;
  machine->Start();
}

void Handshake::OnMessage(ByteView message) {
  const auto machine = machine_;
  machine->OnMessage(message);
}

bool Handshake::WaitsForProver() const { return machine_->waits_for_prover(); }

}  // namespace muster::auth
