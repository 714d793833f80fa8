#include "comm/socket/engine/progress_engine.h"

#include "comm/socket/engine/wait_rules.h"

namespace muster::socket {

ProgressEngine::ProgressEngine(ConnectionSet& connections, CallHistory* history,
                               const ProgressEngineOptions& options)
    : connections_(connections),
      spin_(options.spin),
      call_(connections, history, options),
      mover_(round_, connections, call_),
      wait_(round_, mover_, connections, call_) {}

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

void ProgressEngine::ReceiveBytes(int peer, Bytes& into) {
  IncomingMessage message;
  message.grow = &into;
  round_.Queue(peer, message);
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
  MUSTER_CHECK(mover_.AdvanceAll(moved));
  while (!round_.done()) {
    if (SpinsFor(round_.streams().size(), spin_)) MUSTER_CHECK(mover_.Spin());
    if (!round_.done()) MUSTER_CHECK(wait_.Sleep(nullptr));
  }
  return {};
}

Status ProgressEngine::Await(Awaited& awaited) {
  if (spin_) SpinFor(awaited);
  awaited.Idle();
  if (awaited.Happened()) return {};
  Status status;
  while (status && !awaited.Happened()) {
    awaited.FallAsleep();
    status = wait_.Sleep(&awaited);
    awaited.WakeUp();
    if (status && spin_) SpinFor(awaited);
  }
  call_.stall_monitor().Progress();
  return status;
}

// Reading the clock costs as much as many checks.
void ProgressEngine::SpinFor(Awaited& awaited) {
  constexpr int kLooks = 32;
  std::optional<Clock::time_point> give_up;
  for (;;) {
    for (int look = 0; look < kLooks; ++look) {
      if (awaited.Happened()) return;
      Relax();
    }
    awaited.Idle();
    call_.StartClock();
    const Clock::time_point now = Clock::now();
    if (!give_up) give_up = now + kSpinFor;
    if (now >= *give_up || call_.deadline().when() <= now) return;
  }
}

}  // namespace muster::socket
