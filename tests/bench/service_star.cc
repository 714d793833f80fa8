// The rendezvous service alone: service_star RANKS none|secret|munge. One process is the root, exactly as in
// a launch; the other is all leaders, one rank each, with the library's own way to the root. Prints the lines
// of star_clock.h.
//
// Each leader has an address of its own, as each node has: the root gives none of them many places. So 10.1.0.0/16
// must be local (service.py), and the connection to an address of it comes from that address.
#include <fcntl.h>
#include <unistd.h>

#include "comm/base/parse.h"
#include "comm/log/log.h"
#include "comm/rendezvous/join/joiner.h"
#include "comm/rendezvous/join/prover_choice.h"
#include "comm/rendezvous/link/root_dialer.h"
#include "tests/bench/requests.h"
#include "tests/bench/star_clock.h"

namespace muster::bench {
namespace {

constexpr Duration kLimit = std::chrono::seconds(60);

// The root is rank 0, on a node of its own. Ends when all leaders have taken their roster and hung up.
int ServeGroup(const Launch& launch) {
  auto loop = net::EventLoop::Create();
  if (!loop) return 1;
  std::optional<rendezvous::Joined> joined;
  bool failed = false;
  // So named it listens on all addresses.
  rendezvous::JoinRequest request = MakeRequest(launch, 0);
  request.meeting.find_root = FindRoot::kHost;
  request.meeting.host = "127.0.0.1";
  request.options.ports = {launch.port, launch.port};
  rendezvous::Joiner joiner(
      **loop, std::move(request), [&](tl::expected<rendezvous::Joined, rendezvous::Failure> outcome) {
        failed = !outcome;
        if (failed) return LogError("{}", ToString(outcome.error().error));
        joined = *std::move(outcome);
        joined->children->SetHandlers([](auto, auto) {}, [](auto, const auto&, const auto&) {});
      });
  joiner.Start();
  (*loop)->RunUntil([&] { return failed || (joined && joined->children->empty()); }, Deadline::After(kLimit));
  return joined && joined->children->empty() ? 0 : 1;
}

// All leaders but the root's, on one loop.
std::string AddressOf(int rank) { return fmt::format("10.1.{}.{}", rank / 256, rank % 256); }

class Leaders {
 public:
  Leaders(net::EventLoop& loop, const Launch& launch, auth::Prover& prover) : clock_(launch.world_size - 1) {
    for (int rank = 1; rank < launch.world_size; ++rank) {
      hello_ = Encode(rendezvous::Hello{{AddressOf(rank)}, {MakeRequest(launch, rank).self}});
      leaders_.push_back({rank, hello_, nullptr, nullptr});
    }
    for (Leader& leader : leaders_) {
      leader.dialer = std::make_unique<rendezvous::RootDialer>(
          loop, rendezvous::RootDialer::Params{auth::MeetingIdOf(launch.key), kLimit, kLimit}, prover,
          [this, &leader](std::unique_ptr<net::FrameStream> link) { OnLink(leader, std::move(link)); },
          [](const Error& error) { LogError("{}", ToString(error)); });
      leader.dialer->AddCandidates({*net::SocketAddress::FromNumeric(AddressOf(leader.rank), launch.port)});
    }
  }

  StarClock& clock() { return clock_; }
  size_t hello_bytes() const { return hello_.size(); }
  size_t roster_bytes() const { return roster_bytes_; }
  void HangUp() { leaders_.clear(); }

 private:
  struct Leader {
    int rank = 0;
    Bytes hello;
    std::unique_ptr<rendezvous::RootDialer> dialer;
    std::unique_ptr<net::FrameStream> link;
  };

  void OnLink(Leader& leader, std::unique_ptr<net::FrameStream> link) {
    clock_.OnLinked();
    leader.link = std::move(link);
    leader.link->Start(
        [this](ByteView frame) {
          if (rendezvous::ControlTypeOf(frame) != rendezvous::ControlType::kRoster) return;
          roster_bytes_ = frame.size();
          clock_.OnRoster();
        },
        [](const Error&) { LogError("the root has hung up"); });
    leader.link->Send(leader.hello);
  }

  StarClock clock_;
  std::vector<Leader> leaders_;
  Bytes hello_;
  size_t roster_bytes_ = 0;
};

// The root is silent before a client sends: a connection that gets through is closed immediately.
bool AwaitRoot(const net::SocketAddress& root) {
  const Deadline deadline = Deadline::After(kLimit);
  while (!deadline.Expired()) {
    const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (connect(fd.get(), root.get(), root.length()) == 0) return true;
    usleep(500);
  }
  return false;
}

int LoadService(const Launch& launch, pid_t server) {
  auto loop = net::EventLoop::Create();
  const auto root = net::SocketAddress::FromNumeric(AddressOf(1), launch.port);
  if (!loop || !root || !AwaitRoot(*root)) return 1;
  net::ThreadWorker worker((*loop)->mailbox());
  auto prover = rendezvous::ChooseProver(MakeRequest(launch, 1), worker);
  if (!prover) {
    LogError("{}", ToString(prover.error()));
    kill(server, SIGKILL);
    return 1;
  }
  Leaders leaders(**loop, launch, **prover);
  const bool done = (*loop)->RunUntil([&] { return leaders.clock().done(); }, Deadline::After(kLimit));
  leaders.HangUp();
  return leaders.clock().Finish(server, leaders.hello_bytes(), leaders.roster_bytes()) && done ? 0 : 1;
}

int Main(int argc, char** argv) {
  const auto ranks = argc == 3 ? ParseInteger<int>(argv[1]) : std::nullopt;
  if (!ranks || *ranks < 2) {
    std::fputs("service_star RANKS none|secret|munge\n", stderr);
    return 64;
  }
  SetUpLog({LogLevel::kError, LogFormat::kText, std::nullopt});
  Launch launch{fmt::format("service_star {}", getpid()), *ranks, FreePort(), AuthMethod::kNone,
                std::nullopt};
  const std::string_view method = argv[2];
  if (method == "munge") launch.auth = AuthMethod::kMunge;
  if (method == "secret") {
    launch.auth = AuthMethod::kSecret;
    launch.secret = auth::JobSecret::Generate().value();
  }
  const pid_t server = fork();
  if (server == 0) _exit(ServeGroup(launch));
  return LoadService(launch, server);
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) { return muster::bench::Main(argc, argv); }
