// The meshes of a fake group, without communicators: for tests of what stands on a Mesh.
#pragma once

#include <memory>
#include <vector>

#include "comm/socket/transport/mesh.h"
#include "tests/comm/socket/fake_group.h"

namespace muster::socket {

struct FakeMeshes {
  explicit FakeMeshes(const std::vector<int>& node_of_rank, const SocketEndpointOptions& options = {},
                      const MeshOptions& mesh = {}, const FakeWorld::Tamper& tamper = {})
      : state(MakeRoster(node_of_rank)) {
    std::vector<std::unique_ptr<SocketEndpoint>> endpoints;
    PeerAddresses addresses(node_of_rank.size());
    for (int rank = 0; rank < state.roster().size(); ++rank) {
      groups.push_back(std::make_unique<FakeGroup>(state, rank));
      endpoints.push_back(*SocketEndpoint::Open(options));
      EndpointAddress address = endpoints.back()->address();
      if (tamper) tamper(rank, address);
      addresses.Set(rank, ViewOf(address));
    }
    for (size_t rank = 0; rank < groups.size(); ++rank) {
      meshes.push_back(*Mesh::Create(*groups[rank], std::move(endpoints[rank]), addresses, mesh));
    }
  }

  FakeGroupState state;
  std::vector<std::unique_ptr<FakeGroup>> groups;
  std::vector<std::shared_ptr<Mesh>> meshes;  // by rank
};

}  // namespace muster::socket
