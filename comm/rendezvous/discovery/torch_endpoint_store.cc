#include "comm/rendezvous/discovery/torch_endpoint_store.h"

#include "comm/net/hosts.h"

namespace muster::rendezvous {
namespace {

// An agent may be slow once or twice on a crowded node, or about to end. A store of an older dialect never
// answers: it closes each connection.
constexpr int kMostSilences = 3;

}  // namespace

TorchEndpointStore::TorchEndpointStore(Endpoint store, std::string key, Duration patience)
    : endpoint_(std::move(store)), key_(std::move(key)), patience_(patience) {}

std::string TorchEndpointStore::Describe() const {
  return fmt::format("the store at {}", ToString(endpoint_));
}

Status TorchEndpointStore::Connect(Deadline deadline) {
  if (client_ && client_->open()) return {};
  MUSTER_TRY(const auto addresses, net::ResolveHost(endpoint_.host, endpoint_.port));
  Error problem;
  for (size_t i = 0; i < addresses.size(); ++i) {
    // One unreachable address must not use up the time of the remaining ones.
    const auto left = static_cast<Duration::rep>(addresses.size() - i);
    const Deadline share = deadline.IsNever() ? deadline : Deadline::After(deadline.Remaining() / left);
    auto client = tcp_store::Client::Connect(addresses[i], share);
    if (client) {
      client_ = *std::move(client);
      silences_ = 0;
      return {};
    }
    // A silent listener is a better reason than a refused connection.
    if (problem.message.empty() || client.error().code == Code::kDisagreement) problem = client.error();
  }
  return tl::unexpected<Error>(Judge(std::move(problem)));
}

Error TorchEndpointStore::Judge(Error error) {
  if (error.code != Code::kDisagreement) {
    silences_ = 0;
    return error;
  }
  if (silences_++ == 0) silent_since_ = Clock::now();
  if (silences_ < kMostSilences || Clock::now() - silent_since_ < patience_) return error;
  return {Code::kConfiguration, std::move(error.message),
          "with PyTorch before 2.2, set rendezvous.method: tcp"};
}

Status TorchEndpointStore::Publish(std::string_view root_address, Deadline deadline) {
  MUSTER_CHECK(Connect(deadline));
  MUSTER_CHECK(client_->Set(key_, root_address, deadline));
  // A Set has no answer. A Get has one, possibly the address of a newer root.
  MUSTER_CHECK(client_->Get(key_, deadline));
  return {};
}

Result<std::optional<std::string>> TorchEndpointStore::LookUp(Deadline deadline) {
  MUSTER_CHECK(Connect(deadline));
  // PyTorch's older server closes the connection on a GET of a missing key.
  MUSTER_TRY(const bool there, client_->Check(key_, deadline));
  if (!there) return std::nullopt;
  MUSTER_TRY(std::string root_address, client_->Get(key_, deadline));
  return root_address;
}

}  // namespace muster::rendezvous
