#include "comm/socket/engine/progress_engine.h"

#include "comm/socket/engine/wait_rules.h"

namespace muster::socket {

ProgressEngine::ProgressEngine(ConnectionSet& connections, CallHistory* history,
                               const ProgressEngineOptions& options)
    : connections_(connections),
      spin_(options.spin),
      call_(connections, history, options),
      wait_(round_, connections, call_) {}

void ProgressEngine::End() {
  round_.Clear();
  call_.End();
  wait_.End();
}

void ProgressEngine::SendArriving(int peer, ByteView payload, const ArrivedBytes* arrival) {
  OutgoingMessage message{EncodeFrame({FrameKind::kData, call(), payload.size()}), payload};
  message.follows = arrival;
  round_.Queue(peer, message);
}

void ProgressEngine::SendWithDescriptor(int peer, ByteView payload, int descriptor) {
  round_.Queue(
      peer, OutgoingMessage{EncodeFrame({FrameKind::kData, call(), payload.size()}), payload, 0, descriptor});
}

const ArrivedBytes* ProgressEngine::Receive(int peer, std::span<uint8_t> into) {
  IncomingMessage message;
  message.into = into;
  return round_.QueueObserved(peer, message);
}

const ArrivedBytes* ProgressEngine::ReceiveBytes(int peer, Bytes& into, std::optional<uint64_t> length) {
  IncomingMessage message;
  message.grow = &into;
  message.length = length;
  return round_.QueueObserved(peer, message);
}

const ArrivedBytes* ProgressEngine::ReceiveCombined(int peer, const Combining& combining) {
  IncomingMessage message;
  message.combine = combining;
  return round_.QueueObserved(peer, message);
}

Status ProgressEngine::Run() {
  Status status = Drive();
  round_.Clear();
  return status;
}

Status ProgressEngine::Drive() {
  bool moved = false;
  MUSTER_CHECK(round_.AdvanceAll(call_, moved));
  while (!round_.done()) {
    if (SpinsFor(round_.streams().size(), spin_)) MUSTER_CHECK(Spin());
    if (!round_.done()) MUSTER_CHECK(wait_.Sleep(nullptr));
  }
  return {};
}

Status ProgressEngine::Await(Awaited& awaited) {
  while (spin_ && SpinFor(awaited)) MUSTER_CHECK(wait_.Glance(&awaited));
  awaited.Idle();
  if (awaited.Happened()) return {};
  Status status;
  while (status && !awaited.Happened()) {
    awaited.FallAsleep();
    status = wait_.Sleep(&awaited);
    awaited.WakeUp();
    while (status && spin_ && SpinFor(awaited)) status = wait_.Glance(&awaited);
  }
  call_.stall_monitor().Progress();
  return status;
}

// Until all is done, or nothing has moved for kSpinFor.
Status ProgressEngine::Spin() {
  call_.StartClock();
  Clock::time_point give_up = Clock::now() + kSpinFor;
  for (;;) {
    bool moved = false;
    MUSTER_CHECK(round_.AdvanceAll(call_, moved));
    if (round_.done()) return {};
    const Clock::time_point now = Clock::now();
    if (moved) give_up = now + kSpinFor;
    if (now >= give_up || call_.deadline().when() <= now) return {};
    if (call_.ServingIsDue(now)) MUSTER_CHECK(wait_.Glance(nullptr));
    Relax();
  }
}

// True if it has to serve before it goes on. Reading the clock costs as much as many checks.
bool ProgressEngine::SpinFor(Awaited& awaited) {
  constexpr int kLooks = 32;
  std::optional<Clock::time_point> give_up;
  for (;;) {
    for (int look = 0; look < kLooks; ++look) {
      if (awaited.Happened()) return false;
      Relax();
    }
    awaited.Idle();
    call_.StartClock();
    const Clock::time_point now = Clock::now();
    if (!give_up) give_up = now + kSpinFor;
    if (call_.ServingIsDue(now)) return true;
    if (now >= *give_up || call_.deadline().when() <= now) return false;
  }
}

}  // namespace muster::socket
