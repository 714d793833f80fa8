#include "comm/rendezvous/control/owner_messages.h"

#include "comm/rendezvous/messages/control_frame.h"

namespace muster::rendezvous {
namespace {

using control_frame::Begin;
using control_frame::Body;
using control_frame::Finish;

constexpr auto kLastKind = static_cast<uint8_t>(OwnerKind::kProgram);

}  // namespace

Bytes Encode(const OwnerQuestion& question) {
  WireWriter writer = Begin(ControlType::kOwnerAsked);
  writer.U64(question.id);
  writer.String(question.client_host);
  writer.U16(question.client_port);
  writer.String(question.server_host);
  writer.U16(question.server_port);
  writer.I32(question.node);
  return writer.Take();
}

Result<OwnerQuestion> DecodeOwnerQuestion(ByteView frame) {
  WireReader reader = Body(frame);
  OwnerQuestion question;
  question.id = reader.U64();
  question.client_host = reader.String();
  question.client_port = reader.U16();
  question.server_host = reader.String();
  question.server_port = reader.U16();
  question.node = reader.I32();
  return Finish(reader, std::move(question), "question for an owner");
}

Bytes Encode(const OwnerAnswer& answer) {
  WireWriter writer = Begin(ControlType::kOwnerTold);
  writer.U64(answer.id);
  writer.U8(static_cast<uint8_t>(answer.kind));
  writer.U32(answer.uid);
  writer.I32(answer.rank);
  writer.U32(answer.generation);
  return writer.Take();
}

Result<OwnerAnswer> DecodeOwnerAnswer(ByteView frame) {
  WireReader reader = Body(frame);
  OwnerAnswer answer;
  answer.id = reader.U64();
  const uint8_t kind = reader.U8();
  if (kind > kLastKind) reader.MarkBad();
  answer.kind = static_cast<OwnerKind>(kind);
  answer.uid = reader.U32();
  answer.rank = reader.I32();
  answer.generation = reader.U32();
  return Finish(reader, answer, "answer about an owner");
}

}  // namespace muster::rendezvous
