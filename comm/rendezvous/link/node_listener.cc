#include "comm/rendezvous/link/node_listener.h"

#include <algorithm>
#include <cerrno>

#include "comm/log/log.h"
#include "comm/rendezvous/link/names.h"

namespace muster::rendezvous {
namespace {

// Each failed attempt is another process's success.
constexpr int kAttempts = 64;

}  // namespace

LocalNames MakeLocalNames(std::string_view meeting_key, std::string_view node,
                          const std::vector<std::string>& bases, uid_t uid) {
  return {LocalSocketName(meeting_key, node), bases, uid};
}

UniqueFd DialLocal(const LocalNames& names, size_t bases, bool* busy) {
  if (names.likely) {
    if (UniqueFd fd = names.likely->Dial(names.socket, names.uid, busy)) return fd;
  }
  for (const std::string& base : names.bases) {
    if (bases-- == 0) break;
    for (const net::PrivateDirectory& directory : net::PrivateDirectory::FindIn(base)) {
      if (UniqueFd fd = directory.Dial(names.socket, names.uid, busy)) return fd;
    }
  }
  return {};
}

NodeListener::NodeListener(net::EventLoop& loop, LocalNames names, OnConnection on_connection)
    : loop_(loop), names_(std::move(names)), on_connection_(std::move(on_connection)) {}

NodeListener::~NodeListener() { Close(); }

Result<NodeListener::Opened> NodeListener::Open(Candidates candidates) {
  std::string problems;
  std::string hint;
  for (const std::string& base : names_.bases) {
    const Result<Opened> opened = OpenIn(base, candidates);
    if (opened) return *opened;
    problems += "; " + opened.error().message;
    hint = opened.error().hint;
  }
  return WithHint(Fail(Code::kSystem, "the ranks of this node cannot meet{}", problems), hint);
}

void NodeListener::OpenElsewhere() {
  for (const std::string& base : names_.bases) {
    if (std::ranges::count(entrances_, base, &Entrance::base) > 0) continue;
    if (const auto opened = OpenIn(base, Candidates::kSeveral); !opened)
      LogDebug("{}", opened.error().message);
  }
}

Result<NodeListener::Opened> NodeListener::OpenIn(const std::string& base, Candidates candidates) {
  Opened opened = Opened::kTaken;
  MUSTER_TRY(net::PrivateSocket socket, BindIn(base, opened));
  if (opened == Opened::kTaken) return Opened::kTaken;
  const std::vector<net::PrivateDirectory> here = net::PrivateDirectory::FindIn(base);
  if (AnotherLeadsIn(here, socket.name.directory())) return Opened::kTaken;
  if (candidates == Candidates::kSeveral) {
    for (const std::string& other : names_.bases) {
      if (other == base) continue;
      if (AnotherLeadsIn(net::PrivateDirectory::FindIn(other), socket.name.directory()))
        return Opened::kTaken;
    }
  }
  auto acceptor = std::make_unique<net::Acceptor>(
      loop_, std::move(socket.fd), [this](UniqueFd fd, const net::SocketAddress&) { Admit(std::move(fd)); });
  Entrance entrance{base, std::move(acceptor), std::move(socket.name)};
  MUSTER_CHECK(entrance.acceptor->Start());
  entrances_.push_back(std::move(entrance));
  // Leftovers of killed processes of this user.
  for (const net::PrivateDirectory& directory : here) directory.Tidy(net::PrivateDirectory::Extent::kAll);
  return Opened::kOpen;
}

// An empty socket and kTaken: the name is in use.
Result<net::PrivateSocket> NodeListener::BindIn(const std::string& base, Opened& opened) {
  bool in_a_new_one = false;
  for (int attempt = 1;; ++attempt) {
    MUSTER_TRY(const net::PrivateDirectory directory, in_a_new_one
                                                          ? net::PrivateDirectory::MakeIn(base)
                                                          : net::PrivateDirectory::FindOrMakeIn(base));
    int error = 0;
    Result<net::PrivateSocket> socket =
        net::PrivateSocket::Bind(directory, names_.socket, net::PrivateSocket::Kind::kListener, &error);
    if (socket) opened = Opened::kOpen;
    if (socket || (error != ENOENT && error != EEXIST) || attempt == kAttempts) return socket;
    if (error == ENOENT) continue;
    const auto presence = directory.Look(names_.socket);
    if (presence == net::PrivateDirectory::Presence::kBound) return net::PrivateSocket{};
    // A process that was stopped while it held the lock must not keep this one from leading.
    if (presence == net::PrivateDirectory::Presence::kDead)
      in_a_new_one = !directory.RemoveDead(names_.socket);
  }
}

// Two bases may be one directory with two paths; the random names distinguish them.
bool NodeListener::AnotherLeadsIn(const std::vector<net::PrivateDirectory>& directories,
                                  const net::PrivateDirectory& ours) const {
  return std::ranges::any_of(directories, [&](const net::PrivateDirectory& directory) {
    return directory.name() != ours.name() && !IsOurs(directory) &&
           directory.Look(names_.socket) == net::PrivateDirectory::Presence::kBound;
  });
}

bool NodeListener::IsOurs(const net::PrivateDirectory& directory) const {
  return std::ranges::any_of(entrances_, [&](const Entrance& entrance) {
    return entrance.name.directory().name() == directory.name();
  });
}

void NodeListener::Close() { entrances_.clear(); }

void NodeListener::Admit(UniqueFd fd) {
  const auto credentials = net::CredentialsOf(fd.get());
  if (credentials && credentials->uid == names_.uid) {
    const OnConnection handler = on_connection_;  // a copy: the callback may replace it
    return handler(std::move(fd), *credentials);
  }
  const uid_t uid = credentials ? credentials->uid : 0;
  rejections_.Add(LogLevel::kWarning, {{"uid", uid}},
                  fmt::format("refused a connection of uid {} on this node", uid));
}

}  // namespace muster::rendezvous
