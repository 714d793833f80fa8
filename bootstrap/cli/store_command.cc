// muster store: a TCPStore-compatible store.
#include <fmt/core.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "bootstrap/cli/commands.h"
#include "bootstrap/cli/flag_values.h"
#include "bootstrap/cli/flags.h"
#include "bootstrap/environment/environment.h"
#include "bootstrap/join/startup.h"
#include "bootstrap/process/signals.h"
#include "bootstrap/process/standard_streams.h"
#include "bootstrap/store/local_owner.h"
#include "comm/base/parse.h"
#include "comm/log/log.h"
#include "comm/net/event_loop.h"
#include "comm/net/hosts.h"
#include "comm/net/thread_worker.h"
#include "comm/rendezvous/tcp_store/server.h"
#include "comm/system/descriptor_room.h"

namespace muster::cli {
namespace {

constexpr CommandText kText = {
    .details =
        R"(Serves a store for TCPStore clients of PyTorch 2.2 and later, until Ctrl-C or SIGTERM. It listens on one address. The
protocol has no authentication: from another machine every process that reaches the address can read and write. Other
users of this machine are refused.)",
    .examples = R"(muster store --listen 127.0.0.1:29500 &
MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 TORCHELASTIC_USE_AGENT_STORE=True RANK=0 WORLD_SIZE=1 python train.py
muster store --listen 10.1.0.5:0 --json   # any free port)",
};

constexpr uint16_t kDefaultPort = 29500;  // PyTorch's own
constexpr Duration kResolveTime = std::chrono::seconds(10);
// Descriptors that are not clients: standard streams, listener, loop, log, those that a name service opens.
constexpr uint64_t kOtherDescriptors = 32;
constexpr uint64_t kFewClients = 1024;

constexpr const char* kAddressInstead = "give an address of this machine instead of its name";

struct StoreFlags {
  std::string listen = "127.0.0.1";
  bool json = false;
};

Result<net::SocketAddress> AddressOf(net::EventLoop& loop, const Endpoint& endpoint) {
  if (const auto numeric = net::SocketAddress::FromNumeric(endpoint.host, endpoint.port)) return *numeric;
  net::ThreadWorker worker(loop.mailbox());
  struct Answer {
    bool came = false;
    Result<std::vector<net::SocketAddress>> addresses = Fail(Code::kInternal, "");
  };
  // The worker outlives this call if the name service hangs.
  const auto answer = std::make_shared<Answer>();
  worker.Run([answer, endpoint] { answer->addresses = net::ResolveHost(endpoint.host, endpoint.port); },
             [answer] { answer->came = true; });
  if (!loop.RunUntil([&] { return answer->came; }, Deadline::After(kResolveTime))) {
    return WithHint(Fail(Code::kDeadline, "--listen \"{}\": the name service did not answer within {}",
                         endpoint.host, FormatDuration(kResolveTime)),
                    kAddressInstead);
  }
  if (!answer->addresses) return WithHint(Fail(answer->addresses.error()), kAddressInstead);
  const std::vector<net::SocketAddress>& addresses = *answer->addresses;
  // Debian's /etc/hosts has 127.0.1.1 for the node's own name.
  const auto found = std::ranges::find_if_not(addresses, &net::SocketAddress::IsLoopback);
  if (found != addresses.end()) return *found;
  if (endpoint.host != "localhost") {
    LogWarning(
        "--listen \"{0}\": {0} is {1} on this node, which other nodes cannot reach; give an address of this "
        "machine instead of its name if they must",
        endpoint.host, addresses.front().Host());
  }
  return addresses.front();
}

Result<tcp_store::ServerOptions> OptionsHere() {
  MUSTER_TRY(const uint64_t descriptors, RaiseDescriptorLimit());
  tcp_store::ServerOptions options;
  const uint64_t clients =
      descriptors > 2 * kOtherDescriptors ? descriptors - kOtherDescriptors : descriptors / 2;
  options.most_clients = std::min<uint64_t>(options.most_clients, clients);
  if (clients < kFewClients) {
    LogWarning(
        "the hard limit on open files is {} (ulimit -Hn): at most {} clients at a time; raise it for more",
        descriptors, clients);
  }
  return options;
}

// The kernel has the user of each connection from this machine. Those of other machines remain unknown.
tcp_store::ServerOptions::Screen ScreenHere() {
  return [addresses = store::OwnAddresses(store::AddressesHere()), uid = geteuid(), reported = false](
             const net::SocketAddress& peer, const net::SocketAddress& own) mutable -> Status {
    if (!addresses.Contain(peer)) return {};
    MUSTER_TRY(const store::LocalOwner owner, store::CheckOwnerHere(peer, own, uid));
    if (owner == store::LocalOwner::kNone)
      return Fail(Code::kAuthentication, "it ended before its user was known");
    if (owner == store::LocalOwner::kUnknown && !std::exchange(reported, true))
      LogWarning(
          "this kernel does not report the users of connections: every user of this machine may read and "
          "write");
    return {};
  };
}

// Other programs wait for this line.
Status Announce(const net::SocketAddress& address, bool json) {
  MUSTER_CHECK(process::Print(json ? fmt::format("{{\"listen\":\"{}\",\"host\":\"{}\",\"port\":{}}}\n",
                                                 address.ToString(), address.Host(), address.port())
                                   : fmt::format("listening on {}\n", address.ToString())));
  return process::FlushOutput();
}

Result<int> ServeStore(const StoreFlags& flags) {
  MUSTER_TRY(const Endpoint endpoint, ParseListenAddress(flags.listen, kDefaultPort));
  MUSTER_TRY(const config::EffectiveConfig effective,
             join::LoadConfiguration(Environment::OfThisProcess(), {}));
  join::StartLog(effective);
  MUSTER_TRY(const auto loop, net::EventLoop::Create());
  MUSTER_TRY(const net::SocketAddress address, AddressOf(*loop, endpoint));
  Result<UniqueFd> listener = net::Listen(address);
  if (!listener) {
    return WithHint(
        Fail(listener.error()),
        "choose an address of this machine and a free port with --listen; port 0 is any free port");
  }
  net::AllowSilence(listener->get());
  MUSTER_TRY(tcp_store::ServerOptions options, OptionsHere());
  options.screen = ScreenHere();
  MUSTER_TRY(const auto signals, process::SignalRelay::Start());
  tcp_store::Server server(*loop, *std::move(listener), std::move(options));
  bool ended = false;
  const auto on_signal = [&](uint32_t) {
    while (const auto event = signals->Next()) {
      ended |= event->number == SIGINT || event->number == SIGTERM || event->number == SIGHUP ||
               event->number == SIGQUIT;
    }
  };
  MUSTER_CHECK(loop->Watch(signals->fd(), EPOLLIN, on_signal));
  MUSTER_CHECK(server.Start());
  if (!address.IsLoopback()) {
    LogWarning(
        "store {}: the protocol has no authentication; every process of another machine that reaches this "
        "address may read and write",
        server.address().ToString());
  }
  MUSTER_CHECK(Announce(server.address(), flags.json));
  loop->RunUntil([&] { return ended; }, Deadline::Never());
  LogInfo("store {}: ends with {} clients and {} keys", server.address().ToString(), server.clients(),
          server.keys());
  loop->Forget(signals->fd());
  return 0;
}

}  // namespace

CommandText AddStoreCommand(Options& options, Run& run) {
  const auto flags = std::make_shared<StoreFlags>();
  options.Under(kMeeting);
  options.Text("--listen", flags->listen, "HOST[:PORT]",
               "the address to listen on (default 127.0.0.1:29500; port 0: any free port)");
  options.Under(kOutput);
  options.Flag("--json", flags->json, "print the address as one JSON object");
  run = [flags] { return StatusOf(ServeStore(*flags), flags->json); };
  return kText;
}

}  // namespace muster::cli
