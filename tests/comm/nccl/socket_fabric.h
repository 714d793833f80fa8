// A fabric for ranks in several processes of a machine. The process that has drawn the id computes for all.
// They reach it over an abstract Unix socket, named by the id.
//
// As in NCCL, an operation waits for ever for a rank that is gone. If the process of the id is gone, it ends
// with kRemoteError.
#pragma once

#include <list>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "comm/base/unique_fd.h"
#include "tests/comm/nccl/fake_fabric.h"

namespace muster::nccl {

class SocketFabric final : public FakeFabric {
 public:
  ~SocketFabric() override;

  bool DrawId(NcclId* id) override;
  NcclResult Run(const std::vector<FakeCall>& calls, FakeCut& cut) override;
  // Rank 0 waits for all ranks: its process may have drawn the id.
  NcclResult Leave(const FakeCall& call, FakeCut& cut) override;

 private:
  void Accept(int listener);
  void Serve(int client);
  // A thread of its own, ended by the destructor.
  void Start(UniqueFd fd, void (SocketFabric::*body)(int));
  NcclResult Talk(const std::vector<FakeCall>& calls, FakeCut& cut, bool answered);

  FakeCut served_;
  std::list<std::thread> threads_;
  std::map<std::string, std::list<UniqueFd>> idle_;  // connections, by the id's name
};

}  // namespace muster::nccl
