#include "comm/rendezvous/messages/child_links.h"

namespace muster::rendezvous {

void ChildLinks::SetHandlers(OnFrame on_frame, OnClose on_close) {
  on_frame_ = std::move(on_frame);
  on_close_ = std::move(on_close);
}

ChildLinks::Source ChildLinks::Add(std::unique_ptr<net::FrameStream> stream, std::string name,
                                   bool same_node) {
  const Source source = next_++;
  Child& child = children_[source];
  child = Child{std::move(stream), std::move(name), same_node};
  Listen(source, *child.stream);
  return source;
}

// The handlers are read at each call: the owner changes when the group is formed.
void ChildLinks::Listen(Source source, net::FrameStream& stream) {
  stream.Start(
      [this, source](ByteView frame) {
        const OnFrame handler = on_frame_;
        handler(source, frame);
      },
      [this, source](const Error& reason) { OnStreamClosed(source, reason); });
}

void ChildLinks::OnStreamClosed(Source source, const Error& reason) {
  auto node = children_.extract(source);
  if (node.empty()) return;
  const OnClose handler = on_close_;
  handler(source, node.mapped(), reason);
}

ChildLinks::Child* ChildLinks::Find(Source source) {
  const auto found = children_.find(source);
  return found == children_.end() ? nullptr : &found->second;
}

void ChildLinks::Remove(Source source) { children_.erase(source); }

void ChildLinks::Send(Source source, ByteView frame) {
  if (Child* child = Find(source)) child->stream->Send(frame);
}

void ChildLinks::SendAll(ByteView frame) {
  for (auto& [source, child] : children_) child.stream->Send(frame);
}

}  // namespace muster::rendezvous
