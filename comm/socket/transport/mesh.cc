#include "comm/socket/transport/mesh.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "comm/base/fields.h"
#include "comm/base/parse.h"
#include "comm/log/log.h"
#include "comm/net/hosts.h"
#include "comm/net/socket.h"
#include "comm/ops/arguments.h"
#include "comm/socket/transport/connection.h"
#include "comm/system/descriptor_room.h"

namespace muster::socket {
namespace {

// A program may split for every step of its work.
constexpr size_t kRememberedEnds = 4096;

GroupMember MembershipOf(const Group& group, auth::CipherSet ciphers) {
  return {group.rank(), group.roster().size(), group.key(), group.roster().group_id, ciphers};
}

// True if the ranks of this node are in more than one network namespace.
bool NodeIsApart(const Group& group, const PeerAddresses& addresses) {
  const Roster& roster = group.roster();
  return std::ranges::any_of(roster.RanksOn(roster.NodeOf(group.rank())),
                             [&](int rank) { return addresses.AreApart(group.rank(), rank); });
}

// The nodes whose ranks have their sockets in several bases: one rank may lack access to another's.
std::set<int> DividedNodes(const Roster& roster, const PeerAddresses& addresses) {
  const std::vector<int> nodes = roster.PlacesOfAll().nodes;
  std::vector<std::optional<uint32_t>> base_of_node(roster.nodes.size());
  std::set<int> divided;
  for (size_t rank = 0; rank < nodes.size(); ++rank) {
    std::optional<uint32_t>& base = base_of_node[static_cast<size_t>(nodes[rank])];
    const uint32_t base_of_rank = addresses.BaseOf(static_cast<int>(rank));
    if (!base) base = base_of_rank;
    if (*base != base_of_rank) divided.insert(nodes[rank]);
  }
  return divided;
}

// Every rank of a divided node opens its sockets in all bases before any rank searches them, so that all find
// the same addresses. Ranks that share no base use a port, which they may not have had before.
Status OpenDividedNodes(Group& group, SocketEndpoint& endpoint, PeerAddresses& addresses, Duration patience) {
  if (NodeIsApart(group, addresses)) MUSTER_CHECK(endpoint.RequireUnix());
  const std::set<int> divided = DividedNodes(group.roster(), addresses);
  if (divided.empty()) return {};
  if (divided.contains(group.roster().NodeOf(group.rank()))) MUSTER_CHECK(endpoint.OpenElsewhere());
  MUSTER_TRY(const std::vector<Bytes> ports,
             group.KeyedAllGather("data sockets of divided nodes", EncodeFields(endpoint.address().port),
                                  Deadline::After(patience)));
  for (int rank = 0; std::cmp_less(rank, ports.size()); ++rank) {
    // A rank of an older release sends nothing: its port is known.
    FieldReader reader(ports[static_cast<size_t>(rank)]);
    uint16_t port = 0;
    reader(port);
    if (reader.Finish("port") && addresses.PortOf(rank) == 0) addresses.SetPort(rank, port);
  }
  return {};
}

// Each communicator has connections of its own, and a program may make many.
void KeepRoomForDescriptors(int newest) {
  constexpr size_t kAhead = 64;
  if (!DescriptorsAreScarce(newest)) return;
  const Status room = MakeRoomForDescriptors(static_cast<size_t>(newest) + kAhead, "the data plane");
  if (!room) LogDebug("{}", room.error().message);
}

PeerAcceptorOptions Choosy(PeerAcceptorOptions options, std::function<bool(const LinkKey&)> wanted) {
  options.wanted = std::move(wanted);
  return options;
}

}  // namespace

Mesh::Mesh(Group& group, std::unique_ptr<SocketEndpoint> endpoint, PeerAddresses addresses,
           const MeshOptions& options, std::unique_ptr<net::EventLoop> loop)
    : group_(group),
      endpoint_(std::move(endpoint)),
      addresses_(std::move(addresses)),
      options_(options),
      self_(MembershipOf(group, options_.ciphers)),
      loop_(std::move(loop)),
      server_(*loop_, [this](int from, const Call& call) { return Respond(from, call); }),
      acceptor_(*loop_, self_, *endpoint_,
                Choosy(options_.acceptor, [this](const LinkKey& key) { return Wants(key); }),
                [this](const LinkKey& key, ProvenLink link) { OnArrival(key, std::move(link)); }) {}

Result<std::shared_ptr<Mesh>> Mesh::Create(Group& group, std::unique_ptr<SocketEndpoint> endpoint,
                                           PeerAddresses addresses, const MeshOptions& options) {
  MUSTER_TRY(std::unique_ptr<net::EventLoop> loop, net::EventLoop::Create());
  MUSTER_CHECK(OpenDividedNodes(group, *endpoint, addresses, options.connect));
  std::shared_ptr<Mesh> mesh(
      new Mesh(group, std::move(endpoint), std::move(addresses), options, std::move(loop)));
  MUSTER_CHECK(mesh->acceptor_.Start());
  return mesh;
}

// The leader may be the failure.
Mesh::~Mesh() {
  if (!group_.failure()) endpoint_->LeaveTidyingToLeader();
}

bool Mesh::SharesNode(int peer) const {
  return group_.roster().NodeOf(peer) == group_.roster().NodeOf(self_.rank);
}

std::optional<net::PrivateDirectory> Mesh::FindDirectory(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  return endpoint_->FindDirectory(name);
}

Deadline Mesh::wake() const {
  const std::lock_guard lock(mutex_);
  Deadline wake = acceptor_.wake();
  for (const auto& [key, dial] : dials_) wake = wake.EarlierOf(dial->wake());
  for (const auto& [key, when] : call_back_at_) wake = wake.EarlierOf(when);
  for (const auto& [key, unreached] : unreached_) wake = wake.EarlierOf(unreached.final_at);
  for (const auto& [id, question] : questions_) wake = wake.EarlierOf(question.inquiry->wake());
  return wake;
}

void Mesh::Serve(int caller) {
  const std::lock_guard lock(mutex_);
  loop_->RunReady();
  // After the arrived data: a deadline that passed between two calls must not end a peer that was in time.
  acceptor_.OnTime();
  for (const auto& [key, dial] : dials_) dial->OnTime();
  CallBack();
  const bool dials = SettleDials();
  const bool given_up = GiveUp();
  const bool questions = SettleQuestions();
  if (std::exchange(arrived_, false) || dials || given_up || questions) WakeAll(questions ? -1 : caller);
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
  if (ended_.contains(key.communicator)) {
    if (dial.state() == Dial::State::kConnected) SayLeft(key, dial.TakeConnection());
    return;
  }
  if (dial.state() == Dial::State::kConnected) {
    call_back_at_.erase(key);
    AddReady(key, dial.TakeConnection());
    return;
  }
  if (key.peer > self_.rank) {
    // The peer is late, or can be reached in one direction only, or another process was there.
    if (const auto again = call_back_at_.find(key); again != call_back_at_.end()) {
      again->second = Deadline::After(options_.call_back_after);
    }
    return;
  }
  std::string tried = dial.Tried();
  const bool nowhere = tried.empty();
  if (nowhere) tried = WhyNowhere(key.peer);
  if (SharesNode(key.peer)) {
    failed_.emplace(key, LinkFailure{std::move(tried), dial.refused(), false, dial.lacked_descriptors()});
    return;
  }
  // From another node "refused" may come from a firewall, but more often the peer has gone.
  Clock::time_point final_at = Clock::now() + options_.called_back_within;
  if (!dial.refused() && !nowhere) final_at = std::max(final_at, dial.began() + options_.connect);
  unreached_.emplace(key,
                     Unreached{LinkFailure{std::move(tried), dial.refused(), true, dial.lacked_descriptors()},
                               Deadline::At(final_at)});
}

// The lower rank of a pair that waits for the higher one.
void Mesh::CallBack() {
  for (auto& [key, when] : call_back_at_) {
    if (!when.Expired()) continue;
    when = Deadline::Never();
    dials_.emplace(key, StartDial(key));
  }
}

bool Mesh::GiveUp() {
  return std::erase_if(unreached_, [this](const auto& entry) {
           if (!entry.second.final_at.Expired()) return false;
           failed_.emplace(entry.first, entry.second.failure);
           return true;
         }) > 0;
}

bool Mesh::SettleQuestions() {
  bool settled = false;
  for (auto& [id, question] : questions_) {
    question.inquiry->OnTime();
    if (question.announced || question.inquiry->state() == Inquiry::State::kOpen) continue;
    question.announced = true;
    settled = true;
  }
  return settled;
}

void Mesh::OnArrival(const LinkKey& key, ProvenLink link) {
  if (key.purpose == Purpose::kInquiry) return server_.Receive(key.peer, std::move(link));
  if (ended_.contains(key.communicator)) return SayLeft(key, std::move(link));
  if (key.peer < self_.rank) TellOneWay(key);
  dials_.erase(key);
  unreached_.erase(key);
  call_back_at_.erase(key);
  AddReady(key, std::move(link));
  arrived_ = true;
}

void Mesh::AddReady(const LinkKey& key, ProvenLink link) {
  KeepRoomForDescriptors(link.fd.get());
  connected_.insert(key);
  ready_.emplace(key, std::move(link));
}

void Mesh::SayLeft(const LinkKey& key, ProvenLink link) {
  Connection(std::move(link)).SendLeave(key.communicator);
}

// A lower rank's connection and an own one must never both be taken. One that is not needed yet is tried
// again.
bool Mesh::Wants(const LinkKey& key) const {
  if (key.purpose == Purpose::kInquiry) return true;
  // A failure is final: the call that got it may have failed alone, and its messages are not those of the next one.
  if (connected_.contains(key) || failed_.contains(key)) return false;
  if (key.peer > self_.rank) return true;
  const auto dial = dials_.find(key);
  if (dial == dials_.end()) return true;
  // A dial that has just ended is settled first: its result is the one to report.
  if (dial->second->state() != Dial::State::kTrying) return false;
  return !dial->second->MayHaveReached() && Clock::now() - dial->second->began() >= options_.call_back_after;
}

void Mesh::TellOneWay(const LinkKey& key) {
  std::string tried;
  if (const auto dial = dials_.find(key); dial != dials_.end()) {
    tried = fmt::format("no answer for {}", FormatSeconds(Clock::now() - dial->second->began()));
  } else if (const auto unreached = unreached_.find(key); unreached != unreached_.end()) {
    tried = unreached->second.failure.tried;
  }
  const Roster& roster = group_.roster();
  if (tried.empty() || !told_one_way_.insert(roster.NodeOf(key.peer)).second) return;
  LogWarning("{} cannot reach {}, though {} reaches it: {}; connected the other way round",
             DescribeRank(roster, self_.rank), DescribeRank(roster, key.peer), roster.NodeName(key.peer),
             tried);
}

bool Mesh::IsPending(const LinkKey& key) const {
  return ready_.contains(key) || failed_.contains(key) || dials_.contains(key) || unreached_.contains(key);
}

LinkState Mesh::Take(const LinkKey& key) {
  const std::lock_guard lock(mutex_);
  if (key.peer < self_.rank && !IsPending(key)) {
    dials_.emplace(key, StartDial(key));
    SettleDials();  // it may have failed immediately
  }
  if (key.peer > self_.rank && !IsPending(key))
    call_back_at_.try_emplace(key, Deadline::After(options_.call_back_after));
  LinkState state;
  if (const auto ready = ready_.find(key); ready != ready_.end()) {
    state.link = std::move(ready->second);
    ready_.erase(ready);
    return state;
  }
  if (const auto failed = failed_.find(key); failed != failed_.end()) {
    state.failure = failed->second;
  }
  return state;
}

std::vector<ProvenLink> Mesh::End(uint64_t communicator, Purpose purpose) {
  const std::lock_guard lock(mutex_);
  if (ended_.insert(communicator).second) ended_in_order_.push_back(communicator);
  if (ended_in_order_.size() > kRememberedEnds) {
    ended_.erase(ended_in_order_.front());
    ended_in_order_.pop_front();
  }
  std::vector<ProvenLink> unused;
  for (auto& [key, link] : ready_) {
    if (key.communicator == communicator && key.purpose == purpose) unused.push_back(std::move(link));
  }
  std::erase_if(ready_, [](const auto& entry) { return !entry.second.fd; });
  const auto is_theirs = [&](const LinkKey& key) {
    return key.communicator == communicator && key.purpose == purpose;
  };
  std::erase_if(call_back_at_, [&](const auto& entry) { return is_theirs(entry.first); });
  std::erase_if(unreached_, [&](const auto& entry) { return is_theirs(entry.first); });
  std::erase_if(failed_, [&](const auto& entry) { return is_theirs(entry.first); });
  std::erase_if(connected_, is_theirs);
  return unused;
}

std::unique_ptr<Dial> Mesh::StartDial(const LinkKey& key) {
  DialStages stages = StagesTo(key.peer);
  const bool gone = stages.empty() && HasRemovedItsSocket(key.peer);
  return std::make_unique<Dial>(*loop_, self_, key, std::move(stages), options_.connect, gone);
}

bool Mesh::IsApart(int peer) const { return addresses_.AreApart(peer, self_.rank); }

// A peer removes its socket when it ends. If this rank's own is missing too, another program has removed both: logind
// (RemoveIPC), a cleaner of temporary files. In another network namespace a missing socket proves nothing.
bool Mesh::HasRemovedItsSocket(int peer) const {
  return SharesNode(peer) && !IsApart(peer) && endpoint_->SeesItself();
}

std::string Mesh::WhyNowhere(int peer) const {
  const auto directory = endpoint_->directory();
  if (!SharesNode(peer) || IsApart(peer) || !directory || endpoint_->SeesItself())
    return "it has no address that this node could reach";
  return fmt::format(
      "the sockets of the ranks of this node are no longer in {}: another program has removed them",
      directory->path());
}

DialStages Mesh::StagesTo(int peer) const {
  const EndpointAddress address = addresses_.Of(peer);
  DialStages stages;
  if (SharesNode(peer) && !address.unix_name.empty()) {
    if (const auto found = endpoint_->Find(address.unix_name)) stages.push_back({*found});
  }
  // A port of another network namespace is another process's here, or unused.
  if (SharesNode(peer) && IsApart(peer)) return stages;
  if (auto tcp = TcpAddressesOf(peer); !tcp.empty()) stages.push_back(std::move(tcp));
  return stages;
}

std::vector<net::SocketAddress> Mesh::TcpAddressesOf(int peer) const {
  const uint16_t port = addresses_.PortOf(peer);
  if (port == 0) return {};
  const Roster& roster = group_.roster();
  std::vector<std::string> hosts = roster.nodes[static_cast<size_t>(roster.NodeOf(peer))].addresses;
  if (hosts.empty() && SharesNode(peer)) hosts = {"127.0.0.1", "::1"};
  return net::AddressesSeenFrom(roster.nodes[static_cast<size_t>(roster.NodeOf(group_.rank()))].addresses,
                                hosts, port);
}

void Mesh::AddWaker(int fd) {
  const std::lock_guard lock(mutex_);
  wakers_.push_back(fd);
}

void Mesh::RemoveWaker(int fd) {
  const std::lock_guard lock(mutex_);
  std::erase(wakers_, fd);
}

void Mesh::WakeAll(int caller) {
  for (const int fd : wakers_) {
    if (fd != caller) eventfd_write(fd, 1);  // a full counter wakes the waiter as well
  }
}

void Mesh::AddCallHistory(uint64_t communicator, std::shared_ptr<CallHistory> history) {
  const std::lock_guard lock(mutex_);
  histories_[communicator] = std::move(history);
}

void Mesh::RemoveCallHistory(uint64_t communicator) {
  const std::lock_guard lock(mutex_);
  histories_.erase(communicator);
}

bool Mesh::Respond(int from, const Call& call) {
  const auto found = histories_.find(call.communicator);
  if (found == histories_.end()) return ended_.contains(call.communicator);
  if (HasPeer(call.operation)) return false;  // it has a number of its own
  if (const std::optional<Mismatch> mismatch = found->second->Ask(from, call)) {
    group_.Fail(Disagreement(group_.roster(), self_.rank, mismatch->mine, mismatch->rank, mismatch->theirs));
  }
  return false;
}

uint64_t Mesh::Inquire(int peer, const Call& call) {
  const std::lock_guard lock(mutex_);
  const uint64_t id = next_inquiry_++;
  auto dial = StartDial({call.communicator, Purpose::kInquiry, peer});
  questions_[id].inquiry = std::make_unique<Inquiry>(*loop_, std::move(dial), call);
  return id;
}

Inquiry::State Mesh::Look(uint64_t inquiry) const {
  const std::lock_guard lock(mutex_);
  const auto found = questions_.find(inquiry);
  return found == questions_.end() ? Inquiry::State::kFailed : found->second.inquiry->state();
}

void Mesh::Drop(uint64_t inquiry) {
  const std::lock_guard lock(mutex_);
  questions_.erase(inquiry);
}

}  // namespace muster::socket
