// Where the ranks of the stand-in for NCCL meet: one process has all they send, computes what each is to get,
// and sends it. A rank that is gone is waited for, for ever, as NCCL does.
#pragma once

#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "comm/base/bytes.h"
#include "comm/base/unique_fd.h"
#include "tests/gpu/standin/wire.h"

namespace muster::standin {

class Hub {
 public:
  // Serves the abstract Unix socket `name` on a thread of its own, to the end of the process. False: it
  // cannot be had.
  static bool Start(const std::string& name);

 private:
  struct Ring;
  // One rank of one ring.
  struct Peer {
    UniqueFd fd;
    Bytes in;
    Bytes out;
    std::shared_ptr<Ring> ring;
    int rank = -1;
    bool gone = false;
  };
  struct Call {
    Request request;
    Bytes payload;
  };
  using Pair = std::pair<int, int>;  // from, to
  // The ranks of one communicator.
  struct Ring {
    size_t size = 0;
    std::map<int, Peer*> members;
    std::map<int, std::string> gpus;
    std::map<int, uint64_t> joins;  // tags
    std::map<int, std::deque<Call>> calls;
    std::map<Pair, std::deque<Bytes>> sent;
    std::map<Pair, std::deque<uint64_t>> wanted;  // tags
  };

  explicit Hub(UniqueFd listener) : listener_(std::move(listener)) {}
  void Serve();
  void Accept();
  static void Write(Peer& peer);
  void Read(Peer& peer);
  void Handle(Peer& peer, Call call);
  void Join(Peer& peer, const Call& call);
  static void Admit(Ring& ring);
  // Computes what all ranks have asked for.
  static void Advance(Ring& ring);
  static bool AllAgree(const Ring& ring);
  static void Meet(Ring& ring, Pair pair);
  static void Reply(Peer* peer, uint64_t tag, int result, const Bytes& payload);

  const UniqueFd listener_;
  std::list<Peer> peers_;
  std::map<std::string, std::shared_ptr<Ring>> rings_;
};

}  // namespace muster::standin
