#include "comm/rendezvous/liveness/owner_messages.h"

#include "comm/rendezvous/messages/frames.h"

namespace muster::rendezvous {

void Fields(auto& wire, Is<OwnerQuestion> auto& question) {
  wire(question.id, question.client_host, question.client_port, question.server_host, question.server_port,
       question.node);
}

void Fields(auto& wire, Is<OwnerAnswer> auto& answer) {
  wire(answer.id, UpTo(answer.kind, OwnerKind::kProgram), answer.uid, answer.rank, answer.generation,
       answer.complete);
}

void Merge(OwnerAnswer& best, const OwnerAnswer& other) {
  const bool complete = best.complete && other.complete;
  if (other.kind > best.kind) best = other;
  best.complete = complete;
}

MUSTER_MESSAGE(OwnerQuestion, kOwnerAsked, "question for an owner");
MUSTER_MESSAGE(OwnerAnswer, kOwnerAnswered, "answer about an owner");

}  // namespace muster::rendezvous
