#include "bootstrap/store/local_owner.h"

#include "comm/net/hosts.h"
#include "comm/net/socket_owner.h"

namespace muster::store {

std::vector<std::string> AddressesHere() {
  std::vector<std::string> addresses;
  const auto interfaces = net::LocalInterfaces();
  if (!interfaces) return addresses;
  for (const net::LocalInterface& interface : *interfaces) addresses.push_back(interface.address.Host());
  return addresses;
}

OwnAddresses::OwnAddresses(const std::vector<std::string>& addresses) {
  for (const std::string& address : addresses) addresses_.insert(net::WithoutInterface(address));
}

bool OwnAddresses::Contain(const net::SocketAddress& peer) const {
  return peer.IsLoopback() || addresses_.contains(net::WithoutInterface(peer.Host()));
}

Result<LocalOwner> CheckOwnerHere(const net::SocketAddress& peer, const net::SocketAddress& own, uid_t uid) {
  const auto owner = net::OwnerOfConnection(peer, own);
  if (!owner) return LocalOwner::kUnknown;
  if (!*owner) return LocalOwner::kNone;
  if ((*owner)->uid == uid) return LocalOwner::kUser;
  return Fail(Code::kAuthentication, "it belongs to another user, uid {}", (*owner)->uid);
}

}  // namespace muster::store
