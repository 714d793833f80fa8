// The addresses of all ranks of a group, some 12 bytes each. A value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "comm/base/bytes.h"
#include "comm/base/error.h"
#include "comm/roster.h"
#include "comm/socket/transport/endpoint.h"

namespace muster::socket {

class PeerAddresses {
 public:
  explicit PeerAddresses(size_t ranks) : peers_(ranks) {}

  // `payload`: of EncodeEndpoint. Error: kDisagreement, as ReadEndpoint.
  Status Read(const Roster& roster, int rank, ByteView payload);
  void Set(int rank, const EndpointView& address);
  void SetPort(int rank, uint16_t port) { At(rank).port = port; }

  size_t size() const { return peers_.size(); }
  EndpointAddress Of(int rank) const;
  uint16_t PortOf(int rank) const { return At(rank).port; }
  uint32_t BaseOf(int rank) const { return At(rank).base; }
  // Their ports are in different network namespaces.
  bool AreApart(int a, int b) const;

 private:
  struct Peer {
    uint32_t network_namespace = 0;
    uint32_t base = 0;
    uint16_t port = 0;
    // 0: it has a name of its own, or none. A later port does not change the name.
    uint16_t port_of_name = 0;
  };

  Peer& At(int rank) { return peers_[static_cast<size_t>(rank)]; }
  const Peer& At(int rank) const { return peers_[static_cast<size_t>(rank)]; }

  std::vector<Peer> peers_;
  std::map<int, std::string> own_names_;
};

}  // namespace muster::socket
