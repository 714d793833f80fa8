#include "comm/rendezvous/messages/branches.h"

namespace muster {

void Branches::SetHandlers(OnFrame on_frame, OnClose on_close) {
  on_frame_ = std::move(on_frame);
  on_close_ = std::move(on_close);
}

Branches::Source Branches::Add(std::unique_ptr<FrameStream> stream, std::string name, bool same_node) {
  const Source source = next_++;
  Branch& branch = branches_[source];
  branch = Branch{std::move(stream), std::move(name), same_node, {}};
  Listen(source, *branch.stream);
  return source;
}

// The handlers are looked up when they are needed: the owner changes when the group is formed.
void Branches::Listen(Source source, FrameStream& stream) {
  stream.Start(
      [this, source](ByteView frame) {
        const OnFrame handler = on_frame_;
        handler(source, frame);
      },
      [this, source](const Error& reason) { OnStreamClosed(source, reason); });
}

void Branches::OnStreamClosed(Source source, const Error& reason) {
  auto node = branches_.extract(source);
  if (node.empty()) return;
  const OnClose handler = on_close_;
  handler(source, node.mapped(), reason);
}

Branches::Branch* Branches::Find(Source source) {
  const auto found = branches_.find(source);
  return found == branches_.end() ? nullptr : &found->second;
}

void Branches::Remove(Source source) { branches_.erase(source); }

void Branches::Send(Source source, ByteView frame) {
  if (Branch* branch = Find(source)) branch->stream->Send(frame);
}

void Branches::SendAll(ByteView frame) {
  for (auto& [source, branch] : branches_) branch.stream->Send(frame);
}

}  // namespace muster
