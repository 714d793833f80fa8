// Prints in hexadecimal a first message, for a program that is no part of a group.
//
//   greeting               a leader's on the root's port in this step, with MUSTER_SECRET if it is set
//   greeting --versions    a process's on every Unix socket of a supervisor or leader
#include <cstdio>
#include <string_view>

#include "bootstrap/join/startup.h"
#include "comm/auth/handshake/handshake_messages.h"
#include "comm/rendezvous/messages/versions.h"

namespace muster {
namespace {

void Print(const Bytes& message) {
  std::printf("%08x", static_cast<unsigned>(__builtin_bswap32(static_cast<uint32_t>(message.size()))));
  for (const uint8_t byte : message) std::printf("%02x", static_cast<unsigned>(byte));
  std::printf("\n");
}

Status PrintGreeting() {
  const Environment environment = Environment::OfThisProcess();
  MUSTER_TRY(const config::EffectiveConfig effective, join::LoadConfiguration(environment, {}));
  const auto resolution = join::ResolveLaunch(environment, effective.config, {});
  if (!resolution) return Fail(resolution.error().error);
  MUSTER_TRY(const rendezvous::JoinRequest request,
             join::MakeJoinRequest(environment, effective.config, {}, *resolution));
  auth::HelloMessage hello;
  hello.method = AuthMethod::kMunge;
  hello.meeting = auth::MeetingIdOf(request.meeting.key);
  hello.public_key.fill(9);
  if (request.secret) {
    hello.method = AuthMethod::kSecret;
    hello.mac = auth::HelloMac(request.secret->Psk().view(), Encode(hello));
  }
  Print(Encode(hello));
  return {};
}

}  // namespace
}  // namespace muster

int main(int count, char** arguments) {
  if (count == 2 && std::string_view(arguments[1]) == "--versions") {
    muster::Print(muster::rendezvous::Encode(muster::rendezvous::Versions()));
    return 0;
  }
  if (count != 1) return 64;
  const muster::Status printed = muster::PrintGreeting();
  if (printed) return 0;
  std::fprintf(stderr, "greeting: %s\n", muster::ToString(printed.error()).c_str());
  return muster::ExitStatus(printed.error().code);
}
