#include "comm/rendezvous/messages/compact_roster.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "comm/rendezvous/messages/columns.h"

namespace muster::rendezvous {
namespace {

// A few bytes may represent many items: more than these are malformed.
constexpr uint64_t kMostMembers = 1U << 20;
// Numbers of nodes that are kept for addresses; 12,500 nodes with ten addresses each need 125,000.
constexpr size_t kMostPlaces = size_t{1} << 24;
constexpr size_t kMostText = size_t{128} << 20;

// The order of ranks by place on their node, then by rank: ranks with one place have similar payloads.
std::vector<size_t> ByLocalRank(const std::vector<int>& local_ranks) {
  std::vector<size_t> order(local_ranks.size());
  const auto is_usual = [&](int local) { return local >= 0 && std::cmp_less(local, local_ranks.size()); };
  if (!std::ranges::all_of(local_ranks, is_usual)) {
    for (size_t rank = 0; rank < order.size(); ++rank) order[rank] = rank;
    std::ranges::stable_sort(order, {}, [&](size_t rank) { return local_ranks[rank]; });
    return order;
  }
  // Without comparisons: with data connections every process does this.
  std::vector<size_t> next(local_ranks.size() + 1);
  for (const int local : local_ranks) ++next[static_cast<size_t>(local) + 1];
  for (size_t i = 1; i < next.size(); ++i) next[i] += next[i - 1];
  for (size_t rank = 0; rank < order.size(); ++rank)
    order[next[static_cast<size_t>(local_ranks[rank])]++] = rank;
  return order;
}

template <typename Items, typename Field>
std::vector<int> ValuesOf(const Items& items, Field field) {
  std::vector<int> values;
  values.reserve(items.size());
  for (const auto& item : items) values.push_back(static_cast<int>(std::invoke(field, item)));
  return values;
}

// Each node counts its processes from another number on. The differences from there are alike on all nodes.
struct Pids {
  std::vector<int> of_nodes;     // of the first rank of each; 0: it has none
  std::vector<int> from_node{};  // of each rank, from that of its node
};

// Differences of any two ints, modulo 2^32.
int Minus(int a, int b) { return static_cast<int>(static_cast<uint32_t>(a) - static_cast<uint32_t>(b)); }
int Plus(int a, int b) { return static_cast<int>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b)); }

Pids PidsOf(const Roster& roster) {
  Pids pids{std::vector<int>(roster.nodes.size())};
  std::vector<bool> has_rank(roster.nodes.size());
  for (const Roster::Member& member : roster.members) {
    const auto node = static_cast<size_t>(member.node);
    const bool is_node = node < has_rank.size();
    if (is_node && !has_rank[node]) {
      has_rank[node] = true;
      pids.of_nodes[node] = member.pid;
    }
    pids.from_node.push_back(Minus(member.pid, is_node ? pids.of_nodes[node] : 0));
  }
  return pids;
}

void WriteNodes(ColumnWriter& writer, const auto& nodes) {
  std::vector<std::string_view> texts;
  for (const Roster::Node& node : nodes) texts.emplace_back(node.name);
  writer.Texts(texts);
  const std::vector<int> counts = ValuesOf(nodes, [](const auto& node) { return node.addresses.size(); });
  writer.Numbers(counts);
  const int most = counts.empty() ? 0 : std::ranges::max(counts);
  // First the first address of each node, then the second.
  for (int slot = 0; slot < most; ++slot) {
    texts.clear();
    for (const Roster::Node& node : nodes) {
      if (std::cmp_less(slot, node.addresses.size()))
        texts.emplace_back(node.addresses[static_cast<size_t>(slot)]);
    }
    writer.Texts(texts);
  }
}

// The n-th address of each node that has at least n.
struct AddressColumn {
  TextColumn addresses;
  std::vector<int> nodes;  // ascending; empty: all

  std::optional<size_t> PlaceOf(size_t node) const {
    if (nodes.empty()) return node;
    const auto found = std::ranges::lower_bound(nodes, static_cast<int>(node));
    if (found == nodes.end() || std::cmp_not_equal(*found, node)) return std::nullopt;
    return static_cast<size_t>(found - nodes.begin());
  }
};

// Of those that had more before; empty: all.
std::vector<int> NodesWithMore(const std::vector<int>& count_of, int slot, const std::vector<int>& before) {
  std::vector<int> nodes;
  const auto add = [&](int node) {
    if (count_of[static_cast<size_t>(node)] > slot) nodes.push_back(node);
  };
  if (before.empty()) {
    for (size_t node = 0; node < count_of.size(); ++node) add(static_cast<int>(node));
  } else {
    std::ranges::for_each(before, add);
  }
  return nodes;
}

class Table : public RosterSource, public std::enable_shared_from_this<Table> {
 public:
  explicit Table(ByteView bytes) : bytes_(bytes.begin(), bytes.end()) {}

  // Once. False: malformed.
  bool Open();

  size_t nodes() const { return names_.size(); }
  size_t members() const { return node_of_.size(); }

  void Read(size_t first, std::span<Roster::Node> nodes) const override;
  void Read(size_t first, std::span<Roster::Member> members) const override;
  Roster::Places PlacesOfAll() const override { return {node_of_.All(), local_ranks_.All()}; }
  std::vector<int> RanksOn(int node) const override { return node_of_.Find(node); }
  ByteView PayloadOf(size_t rank) const override;
  void ForEachPayload(const std::function<void(int rank, ByteView payload)>& call) const override;

 private:
  bool OpenNodes(ColumnReader& reader, size_t count);
  void DecodePayloads() const;

  const Bytes bytes_;
  TextColumn names_;
  std::vector<AddressColumn> addresses_;  // the first of each node, the second, ...
  NumberColumn node_of_;
  NumberColumn local_ranks_;
  NumberColumn pids_of_nodes_;
  NumberColumn pids_from_node_;
  NumberColumn processes_;
  TextColumn payloads_;
  std::string first_payload_;

  mutable std::once_flag payloads_are_decoded_;
  mutable std::string payload_texts_;
  mutable std::vector<ByteView> payload_of_;
};

bool Table::OpenNodes(ColumnReader& reader, size_t count) {
  names_ = reader.Texts(count);
  const NumberColumn counts = reader.Numbers(count);
  if (!reader.ok() || counts.least() < 0) return false;
  std::vector<int> count_of;  // of each node, once they differ
  std::vector<int> nodes;     // that have more
  size_t places = 0;
  for (int slot = 0; slot < counts.most(); ++slot) {
    if (counts.least() <= slot) {
      if (count_of.empty()) count_of = counts.All();
      nodes = NodesWithMore(count_of, slot, nodes);
      // Fewer than the column of counts claims.
      if (nodes.empty()) return false;
    }
    AddressColumn& column = addresses_.emplace_back(AddressColumn{{}, nodes});
    places += column.nodes.size();
    if (places > kMostPlaces) return false;
    column.addresses = reader.Texts(column.nodes.empty() ? count : column.nodes.size());
    if (!reader.ok()) return false;
  }
  return true;
}

bool Table::Open() {
  ColumnReader reader(bytes_, kMostText);
  const uint64_t nodes = reader.Number();
  const uint64_t members = reader.Number();
  if (!reader.ok() || nodes > kMostMembers || members > kMostMembers) return false;
  if (!OpenNodes(reader, static_cast<size_t>(nodes))) return false;
  const auto size = static_cast<size_t>(members);
  node_of_ = reader.Numbers(size);
  local_ranks_ = reader.Numbers(size);
  pids_of_nodes_ = reader.Numbers(static_cast<size_t>(nodes));
  pids_from_node_ = reader.Numbers(size);
  processes_ = reader.Numbers(size);
  payloads_ = reader.Texts(size);
  if (!reader.Finish()) return false;
  if (size == 0) return true;
  first_payload_ = payloads_[0];
  return node_of_.least() >= 0 && std::cmp_less(node_of_.most(), nodes);
}

void Table::Read(size_t first, std::span<Roster::Node> nodes) const {
  names_.ForEach(first, nodes.size(), [&](size_t node, const std::string& name) {
    Roster::Node& read = nodes[node - first];
    read.name = name;
    for (const AddressColumn& column : addresses_) {
      if (const auto place = column.PlaceOf(node)) read.addresses.push_back(column.addresses[*place]);
    }
  });
}

void Table::Read(size_t first, std::span<Roster::Member> members) const {
  const size_t count = members.size();
  node_of_.ForEach(first, count, [&](size_t rank, int node) { members[rank - first].node = node; });
  local_ranks_.ForEach(first, count,
                       [&](size_t rank, int local) { members[rank - first].local_rank = local; });
  pids_from_node_.ForEach(first, count, [&](size_t rank, int pid) {
    Roster::Member& member = members[rank - first];
    member.pid = Plus(pids_of_nodes_[static_cast<size_t>(member.node)], pid);
  });
  processes_.ForEach(first, count,
                     [&](size_t rank, int process) { members[rank - first].process = process; });
  for (size_t i = 0; i < count; ++i) members[i].payload = MemberPayload(shared_from_this(), first + i);
}

ByteView Table::PayloadOf(size_t rank) const {
  // Every process asks for that of rank 0: the first one of the column, if it is the first of its node.
  if (rank == 0 && local_ranks_[0] == 0 && local_ranks_.least() == 0) return AsBytes(first_payload_);
  std::call_once(payloads_are_decoded_, [this] { DecodePayloads(); });
  return payload_of_[rank];
}

void Table::ForEachPayload(const std::function<void(int rank, ByteView payload)>& call) const {
  const std::vector<size_t> order = ByLocalRank(local_ranks_.All());
  payloads_.ForEach(
      [&](size_t at, const std::string& payload) { call(static_cast<int>(order[at]), AsBytes(payload)); });
}

void Table::DecodePayloads() const {
  payload_of_.resize(members());
  payload_texts_.reserve(payloads_.bytes());
  ForEachPayload([&](int rank, ByteView payload) {
    const size_t begin = payload_texts_.size();
    payload_texts_ += AsText(payload);
    payload_of_[static_cast<size_t>(rank)] = AsBytes(payload_texts_).subspan(begin);
  });
}

}  // namespace

Bytes EncodeTable(const Roster& roster) {
  ColumnWriter writer;
  writer.Number(roster.nodes.size());
  writer.Number(roster.members.size());
  WriteNodes(writer, roster.nodes);
  const std::vector<int> local_ranks = ValuesOf(roster.members, &Roster::Member::local_rank);
  writer.Numbers(ValuesOf(roster.members, &Roster::Member::node));
  writer.Numbers(local_ranks);
  const Pids pids = PidsOf(roster);
  writer.Numbers(pids.of_nodes);
  writer.Numbers(pids.from_node);
  writer.Numbers(ValuesOf(roster.members, &Roster::Member::process));
  std::vector<std::string_view> payloads;
  payloads.reserve(roster.members.size());
  for (const size_t rank : ByLocalRank(local_ranks))
    payloads.push_back(AsText(roster.members[rank].payload.view()));
  writer.Texts(payloads);
  return writer.Take();
}

bool DecodeTable(ByteView bytes, Roster& roster) {
  const auto table = std::make_shared<Table>(bytes);
  if (!table->Open()) return false;
  roster.nodes = {table->nodes(), table};
  roster.members = {table->members(), table};
  return true;
}

}  // namespace muster::rendezvous
