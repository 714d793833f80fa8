#include "comm/socket/mesh.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "comm/base/log.h"
#include "comm/net/socket.h"

namespace muster {
namespace {

Membership MembershipOf(const Group& group) {
  return {group.rank(), group.roster().size(), group.key(), group.roster().group_id};
}

bool Apart(const EndpointAddress& a, const EndpointAddress& b) {
  return a.network_namespace != b.network_namespace && a.network_namespace != 0 && b.network_namespace != 0;
}

// Whether the ranks of this node are in more than one network namespace.
bool NodeIsDivided(const Group& group, const std::vector<EndpointAddress>& addresses) {
  const Roster& roster = group.roster();
  const EndpointAddress& own = addresses[static_cast<size_t>(group.rank())];
  return std::ranges::any_of(roster.RanksOn(roster.NodeOf(group.rank())),
                             [&](int rank) { return Apart(own, addresses[static_cast<size_t>(rank)]); });
}

}  // namespace

Mesh::Mesh(Group& group, std::unique_ptr<SocketEndpoint> endpoint, std::vector<EndpointAddress> addresses,
           const MeshOptions& options, PollSet poll_set)
    : group_(group),
      endpoint_(std::move(endpoint)),
      addresses_(std::move(addresses)),
      options_(options),
      self_(MembershipOf(group)),
      poll_set_(std::move(poll_set)),
      desk_(poll_set_, [this](int from, const Call& call) { return Respond(from, call); }),
      reception_(poll_set_, self_, *endpoint_, options.reception,
                 [this](const LinkKey& key, UniqueFd fd) { OnArrival(key, std::move(fd)); }) {}

Result<std::shared_ptr<Mesh>> Mesh::Create(Group& group, std::unique_ptr<SocketEndpoint> endpoint,
                                           std::vector<EndpointAddress> addresses,
                                           const MeshOptions& options) {
  MUSTER_TRY(PollSet poll_set, PollSet::Create());
  if (NodeIsDivided(group, addresses)) {
    MUSTER_CHECK(endpoint->OpenDirectories(group.roster().group_id, group.rank()));
  }
  std::shared_ptr<Mesh> mesh(
      new Mesh(group, std::move(endpoint), std::move(addresses), options, std::move(poll_set)));
  MUSTER_CHECK(mesh->reception_.Start());
  return mesh;
}

bool Mesh::SharesNode(int peer) const {
  return group_.roster().NodeOf(peer) == group_.roster().NodeOf(self_.rank);
}

Deadline Mesh::wake() const {
  const std::lock_guard lock(mutex_);
  Deadline wake = reception_.wake();
  for (const auto& [key, dial] : dials_) wake = wake.EarlierOf(dial->wake());
  for (const auto& [id, question] : questions_) wake = wake.EarlierOf(question.inquiry->wake());
  return wake;
}

Status Mesh::Serve() {
  const std::lock_guard lock(mutex_);
  poll_set_.Dispatch();
  // After what has arrived: a deadline that passed while nobody looked must not strike a peer that was in
  // time.
  reception_.OnTime();
  for (const auto& [key, dial] : dials_) dial->OnTime();
  const bool dials = SettleDials();
  const bool questions = SettleQuestions();
  if (dials || questions) WakeAll();
  return reception_.status();
}

bool Mesh::SettleDials() {
  bool settled = false;
  for (auto entry = dials_.begin(); entry != dials_.end();) {
    if (entry->second->state() == Dial::State::kTrying) {
      ++entry;
      continue;
    }
    Settle(entry->first, *entry->second);
    entry = dials_.erase(entry);
    settled = true;
  }
  return settled;
}

void Mesh::Settle(const LinkKey& key, Dial& dial) {
  if (dial.state() == Dial::State::kConnected) {
    ready_.emplace(key, dial.TakeConnection());
    return;
  }
  // From another node "refused" may also be a firewall's word.
  std::string tried = dial.Tried();
  if (tried.empty()) tried = "it has no address that this node could reach";
  failed_.emplace(key, LinkFailure{std::move(tried), SharesNode(key.peer) && dial.refused()});
}

bool Mesh::SettleQuestions() {
  bool settled = false;
  for (auto& [id, question] : questions_) {
    question.inquiry->OnTime();
    if (question.told || question.inquiry->state() == Inquiry::State::kOpen) continue;
    question.told = true;
    settled = true;
  }
  return settled;
}

void Mesh::OnArrival(const LinkKey& key, UniqueFd fd) {
  if (key.purpose == Purpose::kInquiry) return desk_.Receive(key.peer, std::move(fd));
  if (key.peer < self_.rank || ready_.contains(key)) {
    LogWarning("closed a data connection from {}: it is not expected to connect",
               DescribeRank(group_.roster(), key.peer));
    return;
  }
  ready_.emplace(key, std::move(fd));
  WakeAll();
}

LinkState Mesh::Take(const LinkKey& key) {
  const std::lock_guard lock(mutex_);
  if (key.peer < self_.rank && !ready_.contains(key) && !failed_.contains(key) && !dials_.contains(key)) {
    dials_.emplace(key, StartDial(key));
    SettleDials();  // it may have failed at once
  }
  LinkState state;
  if (const auto ready = ready_.find(key); ready != ready_.end()) {
    state.fd = std::move(ready->second);
    ready_.erase(ready);
    return state;
  }
  if (const auto failed = failed_.find(key); failed != failed_.end()) {
    state.failure = failed->second;
  }
  return state;
}

std::vector<UniqueFd> Mesh::TakeUnused(uint64_t communicator, Purpose purpose) {
  const std::lock_guard lock(mutex_);
  std::vector<UniqueFd> unused;
  for (auto& [key, fd] : ready_) {
    if (key.communicator == communicator && key.purpose == purpose) unused.push_back(std::move(fd));
  }
  std::erase_if(ready_, [](const auto& entry) { return !entry.second; });
  return unused;
}

std::unique_ptr<Dial> Mesh::StartDial(const LinkKey& key) {
  return std::make_unique<Dial>(poll_set_, self_, key, StagesTo(key.peer), options_.connect);
}

DialStages Mesh::StagesTo(int peer) const {
  const EndpointAddress& address = addresses_[static_cast<size_t>(peer)];
  // Names and ports of another network namespace are strangers' here, or nobody's.
  if (SharesNode(peer) && Apart(address, addresses_[static_cast<size_t>(self_.rank)])) {
    return {DirectoryDoors::Addresses(endpoint_->directories(), group_.roster().group_id, peer)};
  }
  DialStages stages;
  if (SharesNode(peer) && !address.unix_name.empty()) {
    if (auto name = SocketAddress::Abstract(address.unix_name)) stages.push_back({*name});
  }
  if (auto tcp = TcpAddressesOf(peer); !tcp.empty()) stages.push_back(std::move(tcp));
  return stages;
}

std::vector<SocketAddress> Mesh::TcpAddressesOf(int peer) const {
  const uint16_t port = addresses_[static_cast<size_t>(peer)].port;
  if (port == 0) return {};
  const Roster& roster = group_.roster();
  std::vector<std::string> hosts = roster.nodes[static_cast<size_t>(roster.NodeOf(peer))].addresses;
  if (hosts.empty() && SharesNode(peer)) hosts = {"127.0.0.1", "::1"};
  std::vector<SocketAddress> addresses;
  for (const std::string& host : hosts) {
    if (auto address = SocketAddress::FromNumeric(host, port)) addresses.push_back(*address);
  }
  return addresses;
}

void Mesh::AddWaker(int fd) {
  const std::lock_guard lock(mutex_);
  wakers_.push_back(fd);
}

void Mesh::RemoveWaker(int fd) {
  const std::lock_guard lock(mutex_);
  std::erase(wakers_, fd);
}

void Mesh::WakeAll() {
  const uint64_t one = 1;
  for (const int fd : wakers_) {
    // Fails only where the counter is full, and then the waiter is awake anyway.
    [[maybe_unused]] const ssize_t written = write(fd, &one, sizeof one);
  }
}

void Mesh::AddLedger(uint64_t communicator, std::shared_ptr<Ledger> ledger) {
  const std::lock_guard lock(mutex_);
  ledgers_[communicator] = std::move(ledger);
}

void Mesh::RemoveLedger(uint64_t communicator) {
  const std::lock_guard lock(mutex_);
  ledgers_.erase(communicator);
}

Answer Mesh::Respond(int from, const Call& call) {
  const auto found = ledgers_.find(call.communicator);
  if (found == ledgers_.end()) return {};
  std::optional<Mismatch> mismatch;
  Answer answer = found->second->Ask(from, call, mismatch);
  if (mismatch) {
    group_.Fail(Disagreement(group_.roster(), self_.rank, mismatch->mine, mismatch->rank, mismatch->theirs));
  }
  return answer;
}

uint64_t Mesh::Inquire(int peer, const Call& call) {
  const std::lock_guard lock(mutex_);
  const uint64_t id = next_inquiry_++;
  auto dial = StartDial({call.communicator, Purpose::kInquiry, peer});
  questions_[id].inquiry = std::make_unique<Inquiry>(poll_set_, std::move(dial), call);
  return id;
}

Mesh::InquiryResult Mesh::Look(uint64_t inquiry) const {
  const std::lock_guard lock(mutex_);
  const auto found = questions_.find(inquiry);
  if (found == questions_.end()) return {Inquiry::State::kFailed, {}};
  return {found->second.inquiry->state(), found->second.inquiry->answer()};
}

void Mesh::Drop(uint64_t inquiry) {
  const std::lock_guard lock(mutex_);
  questions_.erase(inquiry);
}

}  // namespace muster
