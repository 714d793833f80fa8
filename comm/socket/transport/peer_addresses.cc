#include "comm/socket/transport/peer_addresses.h"

#include <utility>

namespace muster::socket {

Status PeerAddresses::Read(const Roster& roster, int rank, ByteView payload) {
  MUSTER_TRY(const EndpointView address, ReadEndpoint(payload, roster, rank));
  Set(rank, address);
  return {};
}

void PeerAddresses::Set(int rank, const EndpointView& address) {
  const bool of_port = address.name == EndpointView::Name::kOfPort;
  At(rank) = {address.network_namespace, address.base, address.port, of_port ? address.port : uint16_t{0}};
  if (address.name == EndpointView::Name::kOwn) own_names_[rank] = address.own_name;
}

EndpointAddress PeerAddresses::Of(int rank) const {
  const Peer& peer = At(rank);
  EndpointView view{peer.network_namespace, peer.base, peer.port_of_name, EndpointView::Name::kNone, {}};
  if (peer.port_of_name != 0) view.name = EndpointView::Name::kOfPort;
  EndpointAddress address = view.Address();
  if (const auto own = own_names_.find(rank); own != own_names_.end()) address.unix_name = own->second;
  address.port = peer.port;
  return address;
}

bool PeerAddresses::AreApart(int a, int b) const {
  const uint32_t one = At(a).network_namespace;
  const uint32_t other = At(b).network_namespace;
  return one != other && one != 0 && other != 0;
}

}  // namespace muster::socket
