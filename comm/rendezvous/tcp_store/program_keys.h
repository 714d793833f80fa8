// The keys of one program, and the view of one client: all keys that are not a process group's, and the
// process-group keys of the client's own round (rounds.h has the rule).
//
// Pure; one thread.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "comm/base/bytes.h"
#include "comm/base/error.h"
#include "comm/rendezvous/tcp_store/rounds.h"
#include "comm/rendezvous/tcp_store/store.h"

namespace muster::tcp_store {

class ProgramKeys {
 public:
  // `memory` must outlive this and all clients. `ranks`: number of ranks with rounds; 0: no key is special.
  ProgramKeys(const Limits& limits, Budget& memory, int ranks)
      : limits_(limits), memory_(memory), has_rounds_(ranks > 0), rounds_(ranks), lasting_(limits, memory) {}
  ProgramKeys(const ProgramKeys&) = delete;
  ProgramKeys& operator=(const ProgramKeys&) = delete;

  size_t keys() const;
  size_t clients() const { return clients_; }

 private:
  friend class ClientView;
  std::shared_ptr<Store> Enter(int rank);
  // The store of the round that `rank` is in or, before it has come, would be in; may be null.
  const Store* Find(int rank) const;

  const Limits limits_;
  Budget& memory_;
  const bool has_rounds_;
  Rounds rounds_;
  Store lasting_;
  std::map<Round, std::shared_ptr<Store>> of_rounds_;  // the latest two
  size_t clients_ = 0;
};

class ClientView {
 public:
  // `keys` must outlive this. `rank`: of the client's program; a negative one has the latest round.
  ClientView(ProgramKeys& keys, ClientId id, int rank);
  ClientView(const ClientView&) = delete;
  ClientView& operator=(const ClientView&) = delete;
  ~ClientView();

  // As Store::Apply.
  Status Apply(const Request& request, Bytes& answer, std::vector<ClientId>& woken);

 private:
  ProgramKeys& keys_;
  const ClientId id_;
  const int rank_;
  std::shared_ptr<Store> round_;  // null until the client uses a process-group key
};

}  // namespace muster::tcp_store
