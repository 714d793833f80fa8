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

Bytes Encode(const OwnerQuestion& question) { return EncodeFields(ControlType::kOwnerAsked, question); }
Result<OwnerQuestion> DecodeOwnerQuestion(ByteView frame) {
  return DecodeFrame<OwnerQuestion>(frame, "question for an owner");
}

Bytes Encode(const OwnerAnswer& answer) { return EncodeFields(ControlType::kOwnerAnswered, answer); }
Result<OwnerAnswer> DecodeOwnerAnswer(ByteView frame) {
  return DecodeFrame<OwnerAnswer>(frame, "answer about an owner");
}

}  // namespace muster::rendezvous
