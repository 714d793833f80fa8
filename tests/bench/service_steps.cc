// The parts of the service's time: service_steps RANKS. Each step of a star of that number of ranks alone, in
// memory and on one processor; prints a name and milliseconds a line.
#include <chrono>
#include <cstdio>
#include <deque>

#include "comm/auth/crypto.h"
#include "comm/auth/handshake/handshake.h"
#include "comm/base/parse.h"
#include "comm/rendezvous/roster/roster_builder.h"
#include "tests/bench/requests.h"

namespace muster::bench {
namespace {

class Step {
 public:
  explicit Step(const char* name) : name_(name) {}
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;
  ~Step() {
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start_;
    std::printf("%s %.3f\n", name_, took.count());
  }

 private:
  const char* name_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Both sides, without sockets. As in a launch the root has one key pair, and each leader its own.
auth::SealedChannel ShakeHands(auth::Prover& prover, const auth::MeetingId& meeting,
                               auth::EphemeralKey& roots_key) {
  auth::EphemeralKey leaders_key;
  std::deque<std::pair<bool, Bytes>> wire;  // whether it is for the server
  std::optional<auth::SealedChannel> channel;
  auth::Handshake client(
      {auth::Role::kClient, meeting, "root"}, prover, leaders_key,
      [&](Bytes message) { wire.emplace_back(true, std::move(message)); }, [](auth::HandshakeResult) {});
  auth::Handshake server(
      {auth::Role::kServer, meeting, "leader"}, prover, roots_key,
      [&](Bytes message) { wire.emplace_back(false, std::move(message)); },
      [&](auth::HandshakeResult result) { channel = std::move(result.channel); });
  server.Start();
  client.Start();
  while (!wire.empty()) {
    const auto [for_server, message] = std::move(wire.front());
    wire.pop_front();
    (for_server ? server : client).OnMessage(message);
  }
  return std::move(*channel);
}

std::vector<auth::SealedChannel> ShakeAllHands(const Launch& launch, auth::Prover& prover, const char* name) {
  const auth::MeetingId meeting = auth::MeetingIdOf(launch.key);
  std::vector<auth::SealedChannel> channels;
  auth::EphemeralKey roots_key;
  const Step step(name);
  for (int rank = 1; rank < launch.world_size; ++rank)
    channels.push_back(ShakeHands(prover, meeting, roots_key));
  return channels;
}

std::vector<Bytes> Hellos(const Launch& launch) {
  std::vector<Bytes> hellos;
  for (int rank = 0; rank < launch.world_size; ++rank) {
    hellos.push_back(Encode(rendezvous::Hello{{fmt::format("10.1.{}.{}", rank / 256, rank % 256)},
                                              {MakeRequest(launch, rank).self}}));
  }
  return hellos;
}

Bytes AssembleAndEncode(const Launch& launch) {
  const std::vector<Bytes> hellos = Hellos(launch);
  rendezvous::RosterBuilder roster_builder(MakeRequest(launch, 0).self, {});
  {
    const Step step("assembly");
    for (size_t source = 0; source < hellos.size(); ++source)
      roster_builder.Add(source, rendezvous::Decode<rendezvous::Hello>(hellos[source]).value());
  }
  const Step step("roster");
  rendezvous::FormedGroup formed{roster_builder.MakeRoster().value(), {}, 0};
  return Encode(formed);
}

int Main(int argc, char** argv) {
  const auto ranks = argc == 2 ? ParseInteger<int>(argv[1]) : std::nullopt;
  if (!ranks || *ranks < 2) {
    std::fputs("service_steps RANKS\n", stderr);
    return 64;
  }
  const Launch launch{"service_steps", *ranks, 1, AuthMethod::kNone, std::nullopt};
  const auto none = auth::MakeNoneProver();
  const auto secret = auth::MakeSecretProver(auth::JobSecret::Generate().value());
  ShakeAllHands(launch, *none, "handshakes-none");
  std::vector<auth::SealedChannel> channels = ShakeAllHands(launch, *secret, "handshakes-secret");
  const Bytes roster = AssembleAndEncode(launch);
  const Step step("sealing");
  size_t sealed = 0;
  for (auth::SealedChannel& channel : channels) sealed += channel.sealer.Seal(roster).size();
  return sealed > roster.size() || *ranks == 2 ? 0 : 1;
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) { return muster::bench::Main(argc, argv); }
