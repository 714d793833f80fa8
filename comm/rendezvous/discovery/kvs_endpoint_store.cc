#include "comm/rendezvous/discovery/kvs_endpoint_store.h"

#include <algorithm>

namespace muster::rendezvous {
namespace {

// Slurm reads a request of 1024 bytes at most, name and words of the protocol included.
constexpr size_t kLongestText = 900;

std::string Shortened(std::string text) {
  if (text.size() <= kLongestText) return text;
  text.resize(text.rfind(' ', kLongestText));
  return text;
}

}  // namespace

KvsEndpointStore::KvsEndpointStore(std::shared_ptr<LauncherKvs> kvs, std::string name)
    : kvs_(std::move(kvs)), name_(std::move(name)) {}

std::string KvsEndpointStore::Describe() const { return kvs_->Describe(); }

Status KvsEndpointStore::Publish(std::string_view root_address, Deadline deadline) {
  std::string text = Shortened(std::string(root_address));
  std::ranges::replace(text, ' ', ',');
  return kvs_->Publish(name_, text, deadline);
}

Result<std::optional<std::string>> KvsEndpointStore::LookUp(Deadline deadline) {
  MUSTER_TRY(std::optional<std::string> text, kvs_->LookUp(name_, deadline));
  if (text) std::ranges::replace(*text, ',', ' ');
  return text;
}

}  // namespace muster::rendezvous
