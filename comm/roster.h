// The final table of a group: the node and place of each rank. A value, the same on every rank. Its functions take
// a rank of 0..size()-1 and an index into nodes; no other number is checked.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/base/lazy_list.h"
#include "comm/base/slice.h"

namespace muster {

class RosterSource;

// A member's own data, opaque to the rendezvous (its data endpoint). It is decoded when it is read.
class MemberPayload {
 public:
  MemberPayload() = default;
  // NOLINTBEGIN(google-explicit-constructor): the same bytes, kept otherwise
  MemberPayload(Slice bytes) : bytes_(std::move(bytes)) {}
  MemberPayload(Bytes bytes) : bytes_(std::move(bytes)) {}
  MemberPayload(std::initializer_list<uint8_t> bytes) : bytes_(bytes) {}
  // NOLINTEND(google-explicit-constructor)
  MemberPayload(std::shared_ptr<const RosterSource> source, size_t rank)
      : source_(std::move(source)), rank_(rank) {}

  // Valid as long as this or a copy of it.
  ByteView view() const;

  friend bool operator==(const MemberPayload& a, const MemberPayload& b) {
    return std::ranges::equal(a.view(), b.view());
  }

 private:
  Slice bytes_;
  std::shared_ptr<const RosterSource> source_;  // null: bytes_
  size_t rank_ = 0;
};

struct Roster {
  struct Node {
    std::string name;
    std::vector<std::string>
        addresses;  // numeric, reachable from other nodes, best first; empty on a single node

    friend bool operator==(const Node&, const Node&) = default;
  };
  struct Member {
    int node = 0;        // index into nodes
    int local_rank = 0;  // 0..k-1 on its node
    int pid = 0;         // in its node's PID namespace
    MemberPayload payload;
    int process = -1;  // the lowest rank of its process; -1: unknown (a program has no such column)

    friend bool operator==(const Member&, const Member&) = default;
  };

  std::string group_id;                    // random, 32 hexadecimal digits; empty for a world of one
  LazyList<Node, RosterSource> nodes;      // index = node_rank: ordered by the lowest rank on the node
  LazyList<Member, RosterSource> members;  // index = rank

  int size() const { return static_cast<int>(members.size()); }
  const std::string& NodeName(int rank) const { return nodes[static_cast<size_t>(NodeOf(rank))].name; }
  int NodeOf(int rank) const { return members[static_cast<size_t>(rank)].node; }
  // Of every rank, without the rest of each member.
  struct Places {
    std::vector<int> nodes;
    std::vector<int> local_ranks;
  };
  Places PlacesOfAll() const;
  // Valid as long as this.
  ByteView PayloadOf(int rank) const;
  // Of every rank, in any order; each valid during its call. Keeps nothing in memory.
  void ForEachPayload(const std::function<void(int rank, ByteView payload)>& call) const;
  std::vector<int> RanksOn(int node) const;  // ascending by local rank
  int LocalSize(int node) const;
  // Whether one process represents both. The pids of two processes on a node may be equal: in containers.
  bool OfOneProcess(int a, int b) const;

  friend bool operator==(const Roster&, const Roster&) = default;
};

// Decodes a received roster, piece by piece.
class RosterSource {
 public:
  RosterSource() = default;
  RosterSource(const RosterSource&) = delete;
  RosterSource& operator=(const RosterSource&) = delete;
  virtual ~RosterSource() = default;

  virtual void Read(size_t first, std::span<Roster::Node> nodes) const = 0;
  virtual void Read(size_t first, std::span<Roster::Member> members) const = 0;
  virtual Roster::Places PlacesOfAll() const = 0;
  virtual std::vector<int> RanksOn(int node) const = 0;  // in any order
  // Valid as long as this.
  virtual ByteView PayloadOf(size_t rank) const = 0;
  virtual void ForEachPayload(const std::function<void(int rank, ByteView payload)>& call) const = 0;
};

inline ByteView MemberPayload::view() const { return source_ ? source_->PayloadOf(rank_) : bytes_.view(); }

// "rank 5 on gpu03": the name of a rank in every message. Safe for ranks outside the roster.
std::string DescribeRank(const Roster& roster, int rank);

// "rank 5 on gpu03", "ranks 4-7 on gpu03, 9 on gpu04": grouped by node, in the roster's order.
std::string DescribeRanks(const Roster& roster, const std::vector<int>& ranks);

// The same inside a longer sentence: "rank 5 (gpu02)", "ranks 4-7 (gpu02), 9 (gpu03)", "ranks 8-900 (125
// nodes)".
std::string DescribeRanksBriefly(const Roster& roster, const std::vector<int>& ranks);

}  // namespace muster
