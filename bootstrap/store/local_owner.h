// The connections to a store that were made on this machine, and their users: the protocol proves nothing, the kernel has the
// owner of each.
#pragma once

#include <sys/types.h>

#include <string>
#include <unordered_set>
#include <vector>

#include "comm/base/error.h"
#include "comm/net/socket.h"

namespace muster::store {

// All addresses of this machine's interfaces, as they are now.
std::vector<std::string> AddressesHere();

class OwnAddresses {
 public:
  explicit OwnAddresses(const std::vector<std::string>& addresses);

  // A connection from there was made on this machine.
  bool Contain(const net::SocketAddress& peer) const;

 private:
  std::unordered_set<std::string> addresses_;
};

enum class LocalOwner {
  kUser,
  kNone,     // it has closed the connection, or is in another network namespace
  kUnknown,  // this kernel does not report owners
};

// Of the end `peer` of a connection to `own`, both of this machine. Error: kAuthentication, it is not the process of `uid`.
Result<LocalOwner> CheckOwnerHere(const net::SocketAddress& peer, const net::SocketAddress& own, uid_t uid);

}  // namespace muster::store
