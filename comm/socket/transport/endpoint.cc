#include "comm/socket/transport/endpoint.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <utility>

#include "comm/base/wire.h"
#include "comm/log/log.h"
#include "comm/net/socket.h"
#include "comm/system/fork_guard.h"

namespace muster::socket {
namespace {

constexpr uint8_t kVersion = 4;
constexpr size_t kLongestName = 32;

// A name that EncodeEndpoint may have written; never a path.
bool IsSocketName(std::string_view name) {
  const auto is_usual = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  return name.size() <= kLongestName && std::ranges::all_of(name, is_usual);
}

// No other process of a node has this port in this network namespace.
bool HasNameOfPort(const EndpointView& view) { return view.port != 0 && view.network_namespace != 0; }
std::string NameOfPort(uint32_t network_namespace, uint16_t port) {
  return fmt::format("data-{:08x}-{}", network_namespace, port);
}

// As ViewOf makes it: each address has one form.
bool IsCanonical(const EndpointView& view) {
  if (view.name == EndpointView::Name::kOfPort) return HasNameOfPort(view);
  if (view.name == EndpointView::Name::kNone) return true;
  return !view.own_name.empty() && IsSocketName(view.own_name) &&
         view.own_name != NameOfPort(view.network_namespace, view.port);
}

// Two mounts of one node have different numbers, one mount has the same in every process. 0: unknown.
uint32_t NumberOfBase(const std::string& base) {
  struct stat status {};
  if (stat(base.c_str(), &status) != 0) return 0;
  constexpr uint64_t kSpread = 0x9e3779b97f4a7c15;
  return static_cast<uint32_t>((status.st_dev * kSpread + status.st_ino) * kSpread >> 32);
}

Result<UniqueFd> ListenOnTcp() {
  int error_number = 0;
  auto both = net::Listen(net::SocketAddress::AnyIpv6(0), &error_number);
  // A kernel without IPv6, or with IPv6 switched off.
  if (!both && (error_number == EAFNOSUPPORT || error_number == EADDRNOTAVAIL)) {
    return net::Listen(net::SocketAddress::AnyIpv4(0));
  }
  return both;
}

}  // namespace

EndpointAddress EndpointView::Address() const {
  std::string unix_name(own_name);
  if (name == Name::kOfPort) unix_name = NameOfPort(network_namespace, port);
  return {std::move(unix_name), port, network_namespace, base};
}

EndpointView ViewOf(const EndpointAddress& address) {
  EndpointView view{address.network_namespace, address.base, address.port, EndpointView::Name::kNone, {}};
  if (address.unix_name.empty()) return view;
  if (HasNameOfPort(view) && address.unix_name == NameOfPort(view.network_namespace, view.port)) {
    view.name = EndpointView::Name::kOfPort;
    return view;
  }
  view.name = EndpointView::Name::kOwn;
  view.own_name = address.unix_name;
  return view;
}

Bytes EncodeEndpoint(const EndpointAddress& address) {
  const EndpointView view = ViewOf(address);
  WireWriter writer;
  writer.U8(kVersion);
  writer.U32(view.network_namespace);
  writer.U32(view.base);
  writer.U8(static_cast<uint8_t>(view.name));
  if (view.name == EndpointView::Name::kOwn) writer.U8(static_cast<uint8_t>(view.own_name.size()));
  writer.Raw(AsBytes(view.own_name));
  writer.U16(view.port);
  return writer.Take();
}

Result<EndpointView> ReadEndpoint(ByteView payload, const Roster& roster, int rank) {
  WireReader reader(payload);
  const uint8_t version = reader.U8();
  if (reader.ok() && version != kVersion) {
    return Fail(Code::kDisagreement, "{} speaks version {} of the data protocol, this rank version {}",
                DescribeRank(roster, rank), version, kVersion);
  }
  EndpointView view;
  view.network_namespace = reader.U32();
  view.base = reader.U32();
  const uint8_t name = reader.U8();
  view.name = static_cast<EndpointView::Name>(name);
  if (view.name == EndpointView::Name::kOwn) {
    const size_t length = reader.U8();
    view.own_name = AsText(reader.Raw(length));
  }
  view.port = reader.U16();
  if (!reader.ok() || reader.remaining() > 0 || name > static_cast<uint8_t>(EndpointView::Name::kOwn) ||
      !IsCanonical(view)) {
    return Fail(Code::kDisagreement, "{} sent a malformed data endpoint", DescribeRank(roster, rank));
  }
  return view;
}

Result<EndpointAddress> DecodeEndpoint(ByteView payload, const Roster& roster, int rank) {
  MUSTER_TRY(const EndpointView view, ReadEndpoint(payload, roster, rank));
  return view.Address();
}

Result<std::unique_ptr<SocketEndpoint>> SocketEndpoint::Open(const SocketEndpointOptions& options) {
  std::unique_ptr<SocketEndpoint> endpoint(new SocketEndpoint);
  endpoint->bases_ = options.bases;
  if (options.tcp) MUSTER_CHECK(endpoint->OpenPort());
  endpoint->OpenUnix();
  // An unknown base may be another one than that of the other ranks.
  if (endpoint->address_.base == 0) MUSTER_CHECK(endpoint->OpenPort());
  endpoint->GuardListeners();
  if (!endpoint->unix_.empty() && !endpoint->tcp_)
    endpoint->address_.network_namespace = net::NetworkNamespaceOf(endpoint->unix_.front().fd.get());
  return endpoint;
}

Result<net::PrivateSocket> SocketEndpoint::BindUnix() const {
  constexpr auto kListener = net::PrivateSocket::Kind::kListener;
  // In the first base only, where the other ranks of the node are. A process that was killed may have left the name.
  if (HasNameOfPort(ViewOf(address_)) && !bases_.empty()) {
    const std::string name = NameOfPort(address_.network_namespace, address_.port);
    if (auto opened = net::PrivateSocket::OpenIn(bases_.front(), name, kListener)) return opened;
  }
  return net::PrivateSocket::Open(bases_, net::UniqueSocketName("data"), kListener);
}

void SocketEndpoint::OpenUnix() {
  Result<net::PrivateSocket> opened = BindUnix();
  if (!opened) {
    why_no_unix_ = opened.error().message;
    LogDebug("{}; TCP inside this node", why_no_unix_);
    return;
  }
  const net::PrivateDirectory& directory = opened->name.directory();
  address_.unix_name = opened->name.socket();
  address_.base = NumberOfBase(directory.base());
  known_.push_back(directory);
  unix_.push_back(*std::move(opened));
}

SocketEndpoint::~SocketEndpoint() {
  if (tcp_) ForgetForForks(tcp_.get());
  for (const net::PrivateSocket& socket : unix_) ForgetForForks(socket.fd.get());
}

// A peer would connect to one that is open in a child, and wait there.
void SocketEndpoint::GuardListeners() const {
  if (tcp_) CloseInForkedChildren(tcp_.get());
  for (const net::PrivateSocket& socket : unix_) CloseInForkedChildren(socket.fd.get());
}

Status SocketEndpoint::OpenPort() {
  if (tcp_) return {};
  MUSTER_TRY(tcp_, ListenOnTcp());
  net::AllowSilence(tcp_.get());
  address_.port = net::LocalAddress(tcp_.get()).port();
  address_.network_namespace = net::NetworkNamespaceOf(tcp_.get());
  return {};
}

Status SocketEndpoint::RequireUnix() const {
  if (!unix_.empty()) return {};
  return muster::Fail(Code::kSystem,
                      "the ranks of this node are in different network namespaces, and cannot meet: {}",
                      why_no_unix_);
}

Status SocketEndpoint::OpenElsewhere() {
  MUSTER_CHECK(OpenPort());
  if (address_.unix_name.empty()) return {};
  const std::string first = unix_.front().name.directory().base();
  for (const std::string& base : bases_) {
    if (base == first) continue;
    auto opened = net::PrivateSocket::OpenIn(base, address_.unix_name, net::PrivateSocket::Kind::kListener);
    if (opened) unix_.push_back(*std::move(opened));
  }
  // Not all ranks can access the first base. Ranks that can access the same bases all choose the same one.
  std::ranges::stable_partition(bases_, [&](const std::string& base) { return base != first; });
  LookForDirectories();
  GuardListeners();
  return {};
}

std::optional<net::PrivateDirectory> SocketEndpoint::directory() const {
  return unix_.empty() ? std::nullopt : std::optional(unix_.front().name.directory());
}

void SocketEndpoint::LeaveTidyingToLeader() {
  // On a divided node some of its ranks have no leader.
  if (unix_.size() == 1) unix_.front().name.LeaveTidyingToOthers();
}

std::vector<int> SocketEndpoint::unix_fds() const {
  std::vector<int> fds;
  for (const net::PrivateSocket& socket : unix_) fds.push_back(socket.fd.get());
  return fds;
}

std::optional<net::SocketAddress> SocketEndpoint::Find(const std::string& unix_name) {
  const net::PrivateDirectory* directory = Known(unix_name);
  if (directory == nullptr) {
    LookForDirectories();
    directory = Known(unix_name);
  }
  if (directory == nullptr) return std::nullopt;
  const auto address = directory->AddressOf(unix_name);
  return address ? std::optional(*address) : std::nullopt;
}

std::optional<net::PrivateDirectory> SocketEndpoint::FindDirectory(const std::string& name) {
  LookForDirectories();
  const auto found = std::ranges::find(known_, name, &net::PrivateDirectory::name);
  return found == known_.end() ? std::nullopt : std::optional(*found);
}

const net::PrivateDirectory* SocketEndpoint::Known(const std::string& unix_name) const {
  if (unix_name.empty()) return nullptr;
  const auto found = std::ranges::find_if(
      known_, [&](const net::PrivateDirectory& directory) { return directory.Has(unix_name); });
  return found == known_.end() ? nullptr : &*found;
}

void SocketEndpoint::LookForDirectories() {
  known_.clear();
  for (const std::string& base : bases_) {
    for (net::PrivateDirectory& directory : net::PrivateDirectory::FindIn(base))
      known_.push_back(std::move(directory));
  }
}

}  // namespace muster::socket
