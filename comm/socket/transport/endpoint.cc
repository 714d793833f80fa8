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

constexpr uint8_t kVersion = 3;
constexpr size_t kLongestName = 32;

// A name that EncodeEndpoint may have written; never a path.
bool IsSocketName(std::string_view name) {
  const auto is_usual = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  return name.size() <= kLongestName && std::ranges::all_of(name, is_usual);
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

Bytes EncodeEndpoint(const EndpointAddress& address) {
  WireWriter writer;
  writer.U8(kVersion);
  writer.U16(address.port);
  writer.U32(address.network_namespace);
  writer.U32(address.base);
  writer.U8(static_cast<uint8_t>(address.unix_name.size()));
  writer.Raw(AsBytes(address.unix_name));
  return writer.Take();
}

Result<EndpointAddress> DecodeEndpoint(ByteView payload, const Roster& roster, int rank) {
  WireReader reader(payload);
  const uint8_t version = reader.U8();
  if (reader.ok() && version != kVersion) {
    return Fail(Code::kDisagreement, "{} speaks version {} of the data protocol, this rank version {}",
                DescribeRank(roster, rank), version, kVersion);
  }
  EndpointAddress address;
  address.port = reader.U16();
  address.network_namespace = reader.U32();
  address.base = reader.U32();
  const size_t length = reader.U8();
  address.unix_name = AsText(reader.Raw(length));
  if (!reader.ok() || reader.remaining() > 0 || !IsSocketName(address.unix_name)) {
    return Fail(Code::kDisagreement, "{} sent a malformed data endpoint", DescribeRank(roster, rank));
  }
  return address;
}

Result<std::unique_ptr<SocketEndpoint>> SocketEndpoint::Open(const SocketEndpointOptions& options) {
  std::unique_ptr<SocketEndpoint> endpoint(new SocketEndpoint);
  endpoint->bases_ = options.bases;
  const std::string name = net::UniqueSocketName("data");
  if (auto opened = net::PrivateSocket::Open(options.bases, name, net::PrivateSocket::Kind::kListener)) {
    endpoint->address_.unix_name = name;
    endpoint->address_.base = NumberOfBase(opened->name.directory().base());
    endpoint->known_.push_back(opened->name.directory());
    endpoint->unix_.push_back(*std::move(opened));
  } else {
    endpoint->why_no_unix_ = opened.error().message;
    LogDebug("{}; TCP inside this node", opened.error().message);
  }
  // An unknown base may be another one than that of the other ranks.
  if (options.tcp || endpoint->address_.base == 0) MUSTER_CHECK(endpoint->OpenPort());
  endpoint->GuardListeners();
  endpoint->address_.network_namespace = net::NetworkNamespaceOf(
      endpoint->unix_.empty() ? endpoint->tcp_.get() : endpoint->unix_.front().fd.get());
  return endpoint;
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
