#include "comm/rendezvous/tcp_store/contents.h"

namespace muster::tcp_store {
namespace {

// The memory of an entry beside its key and value: the node of the table, two strings, the allocator's own.
constexpr uint64_t kEntry = 128;

uint64_t Weight(std::string_view key, std::string_view value) { return kEntry + key.size() + value.size(); }

}  // namespace

const std::string* Contents::Find(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

Status Contents::Set(std::string_view key, std::string_view value) {
  const auto found = values_.find(key);
  if (found == values_.end()) {
    MUSTER_CHECK(memory_.Take(Weight(key, value)));
    values_.emplace(key, value);
    return {};
  }
  std::string& held = found->second;
  if (value.size() > held.size()) MUSTER_CHECK(memory_.Take(value.size() - held.size()));
  if (value.size() < held.size()) memory_.GiveBack(held.size() - value.size());
  // A small value does not keep the room of a large one.
  if (held.capacity() / 2 > value.size() + kEntry) std::string().swap(held);
  held.assign(value);
  return {};
}

Status Contents::Append(std::string_view key, std::string_view value) {
  const auto found = values_.find(key);
  if (found == values_.end()) return Set(key, value);
  MUSTER_CHECK(memory_.Take(value.size()));
  found->second.append(value);
  return {};
}

bool Contents::Erase(std::string_view key) {
  const auto found = values_.find(key);
  if (found == values_.end()) return false;
  memory_.GiveBack(Weight(found->first, found->second));
  values_.erase(found);
  return true;
}

Status Contents::Push(std::string_view key, std::string_view value) {
  MUSTER_CHECK(memory_.Take(Weight(key, value)));
  auto found = queues_.find(key);
  if (found == queues_.end()) found = queues_.try_emplace(std::string(key)).first;
  found->second.emplace_back(value);
  return {};
}

std::optional<std::string> Contents::Pop(std::string_view key) {
  const auto found = queues_.find(key);
  if (found == queues_.end()) return std::nullopt;
  std::string value = std::move(found->second.front());
  memory_.GiveBack(Weight(key, value));
  found->second.pop_front();
  if (found->second.empty()) queues_.erase(found);
  return value;
}

size_t Contents::QueueLength(std::string_view key) const {
  const auto found = queues_.find(key);
  return found == queues_.end() ? 0 : found->second.size();
}

void Contents::Clear() {
  for (const auto& [key, value] : values_) memory_.GiveBack(Weight(key, value));
  for (const auto& [key, queue] : queues_) {
    for (const std::string& value : queue) memory_.GiveBack(Weight(key, value));
  }
  values_.clear();
  queues_.clear();
}

}  // namespace muster::tcp_store
