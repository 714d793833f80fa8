#include "comm/rendezvous/messages/compact_roster.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "comm/rendezvous/messages/columns.h"

namespace muster::rendezvous {
namespace {

// A few bytes may represent many items: more than these are malformed.
constexpr uint64_t kMostMembers = 1U << 20;
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
  // Every process does this with every rank: without comparisons.
  std::vector<size_t> next(local_ranks.size() + 1);
  for (const int local : local_ranks) ++next[static_cast<size_t>(local) + 1];
  for (size_t i = 1; i < next.size(); ++i) next[i] += next[i - 1];
  for (size_t rank = 0; rank < order.size(); ++rank)
    order[next[static_cast<size_t>(local_ranks[rank])]++] = rank;
  return order;
}

template <typename Items, typename Field>
std::vector<int> Column(const Items& items, Field field) {
  std::vector<int> column;
  column.reserve(items.size());
  for (const auto& item : items) column.push_back(static_cast<int>(std::invoke(field, item)));
  return column;
}

void WriteNodes(ColumnWriter& writer, const std::vector<Roster::Node>& nodes) {
  std::vector<std::string_view> texts;
  for (const Roster::Node& node : nodes) texts.emplace_back(node.name);
  writer.Texts(texts);
  const std::vector<int> counts = Column(nodes, [](const auto& node) { return node.addresses.size(); });
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

bool ReadNodes(ColumnReader& reader, size_t count, std::vector<Roster::Node>& nodes) {
  const TextColumn names = reader.Texts(count);
  const std::vector<int> counts = reader.Numbers(count);
  if (!reader.ok()) return false;
  nodes.resize(count);
  std::vector<size_t> with_more;
  for (size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].name = names[i];
    if (counts[i] < 0) return false;
    if (counts[i] > 0) with_more.push_back(i);
  }
  for (int slot = 0; !with_more.empty(); ++slot) {
    const TextColumn addresses = reader.Texts(with_more.size());
    if (!reader.ok()) return false;
    for (size_t i = 0; i < with_more.size(); ++i) nodes[with_more[i]].addresses.emplace_back(addresses[i]);
    std::erase_if(with_more, [&](size_t node) { return counts[node] <= slot + 1; });
  }
  return true;
}

}  // namespace

Bytes EncodeTable(const Roster& roster) {
  ColumnWriter writer;
  writer.Number(roster.nodes.size());
  writer.Number(roster.members.size());
  WriteNodes(writer, roster.nodes);
  const std::vector<int> local_ranks = Column(roster.members, &Roster::Member::local_rank);
  writer.Numbers(Column(roster.members, &Roster::Member::node));
  writer.Numbers(local_ranks);
  writer.Numbers(Column(roster.members, &Roster::Member::pid));
  std::vector<std::string_view> payloads;
  payloads.reserve(roster.members.size());
  for (const size_t rank : ByLocalRank(local_ranks))
    payloads.push_back(AsText(roster.members[rank].payload.view()));
  writer.Texts(payloads);
  return writer.Take();
}

bool DecodeTable(ByteView bytes, Roster& roster) {
  ColumnReader reader(bytes, kMostText);
  const uint64_t nodes = reader.Number();
  const uint64_t most = reader.Number();
  if (!reader.ok() || nodes > kMostMembers || most > kMostMembers) return false;
  const auto size = static_cast<size_t>(most);
  if (!ReadNodes(reader, static_cast<size_t>(nodes), roster.nodes)) return false;
  const std::vector<int> node_of = reader.Numbers(size);
  const std::vector<int> local_ranks = reader.Numbers(size);
  const std::vector<int> pids = reader.Numbers(size);
  const TextColumn payloads = reader.Texts(size);
  if (!reader.Finish()) return false;
  roster.members.resize(size);
  // All payloads stay in one piece of memory.
  const auto text = std::make_shared<const Bytes>(payloads.all.begin(), payloads.all.end());
  const std::vector<size_t> order = ByLocalRank(local_ranks);
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t rank = order[i];
    if (node_of[rank] < 0 || std::cmp_greater_equal(node_of[rank], nodes)) return false;
    const size_t begin = i == 0 ? 0 : payloads.ends[i - 1];
    const size_t length = payloads.ends[i] - begin;
    roster.members[rank] = {node_of[rank], local_ranks[rank], pids[rank],
                            length == 0 ? Slice() : Slice(text, ByteView(*text).subspan(begin, length))};
  }
  return true;
}

}  // namespace muster::rendezvous
