// Prints in hexadecimal a leader's first bytes on the root's port in this step, for a program that is no
// leader.
#include <cstdio>
#include <vector>

#include "bootstrap/join/startup.h"
#include "comm/auth/handshake/handshake_messages.h"

namespace muster {
namespace {

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
  const Bytes message = Encode(hello);
  std::printf("%08x", static_cast<unsigned>(__builtin_bswap32(static_cast<uint32_t>(message.size()))));
  for (const uint8_t byte : message) std::printf("%02x", static_cast<unsigned>(byte));
  std::printf("\n");
  return {};
}

}  // namespace
}  // namespace muster

int main() {
  const muster::Status printed = muster::PrintGreeting();
  if (printed) return 0;
  std::fprintf(stderr, "greeting: %s\n", muster::ToString(printed.error()).c_str());
  return muster::ExitStatus(printed.error().code);
}
