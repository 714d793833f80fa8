// Requests a peer's current call, over a separate connection for one question. Any rank may inquire at any
// other: the rule "the higher rank connects" does not hold here, because the peer might never connect.
//
//   asker -> asked   a Frame of kind kInquiry with the call the asker is blocked in
//   asked -> asker   u8 3: it has left the communicator; 0, of older builds 1 and 2 too: it has not
//
// If the connection is sealed, each is one record. One that does not open is logged (RejectionLog) and counts as no answer:
// an inquiry decides nothing that the data connections would not detect themselves.
//
// A rank that has been blocked for a while sends inquiries to the peers it waits for: if calls of the same
// number differ, the asked rank makes that the group's failure.
//
// Threads: one at a time (the Mesh's lock). Nothing here blocks.
#pragma once

#include <array>
#include <functional>
#include <list>
#include <memory>
#include <optional>

#include "comm/auth/data_seal.h"
#include "comm/base/bytes.h"
#include "comm/base/deadline.h"
#include "comm/log/rejection_log.h"
#include "comm/net/event_loop.h"
#include "comm/ops/call.h"
#include "comm/socket/transport/dial.h"
#include "comm/socket/transport/frame.h"
#include "comm/socket/transport/handshake.h"

namespace muster::socket {

// The one message in each direction, sealed if there are keys.
class InquiryMessages {
 public:
  explicit InquiryMessages(const std::optional<auth::DataKeys>& keys) : keys_(keys) {}

  Shake Write(int fd, ByteView message);
  // Over any number of calls. kRejected: it was changed on the way.
  template <size_t kBytes>
  Shake Read(int fd, std::array<uint8_t, kBytes>& into) {
    return Read(fd, std::span<uint8_t>(into));
  }

 private:
  static constexpr size_t kLongest = kFrameHeaderBytes + auth::kSealOverhead;
  Shake Read(int fd, std::span<uint8_t> into);

  std::optional<auth::DataKeys> keys_;
  FixedMessages messages_;
  std::array<uint8_t, kLongest> incoming_{};
};

// One question on its way.
class Inquiry {
 public:
  enum class State {
    kOpen,  // not answered; the peer may be busy with the user's program
    kAnswered,
    kLeft,     // the peer has left the communicator
    kRefused,  // the peer's listener is gone: the peer has ended
    kFailed,   // no answer could be obtained
  };

  Inquiry(net::EventLoop& loop, std::unique_ptr<Dial> dial, const Call& call);
  Inquiry(const Inquiry&) = delete;
  Inquiry& operator=(const Inquiry&) = delete;
  ~Inquiry();

  State state() const { return state_; }
  Deadline wake() const { return dial_ ? dial_->wake() : Deadline::Never(); }
  void OnTime();
  // Moves on once the dial has ended.
  void Advance();

 private:
  void OnAnswer();
  void Close(State state);

  net::EventLoop& loop_;
  std::unique_ptr<Dial> dial_;
  const Call call_;
  State state_ = State::kOpen;
  int peer_ = -1;
  UniqueFd fd_;
  InquiryMessages messages_{{}};
  RejectionLog rejections_{"answers to inquiries"};
};

// Answers inquiries at this rank.
class InquiryServer {
 public:
  // Given the asker's rank and call: whether this rank has left the communicator.
  using Responder = std::function<bool(int, const Call&)>;

  InquiryServer(net::EventLoop& loop, Responder responder) : loop_(loop), responder_(std::move(responder)) {}
  InquiryServer(const InquiryServer&) = delete;
  InquiryServer& operator=(const InquiryServer&) = delete;
  ~InquiryServer();

  // A proven connection of purpose kInquiry.
  void Receive(int from, ProvenLink link);

 private:
  struct Visitor {
    int rank = 0;
    UniqueFd fd;
    InquiryMessages messages;
  };
  void OnReady(Visitor* visitor);
  void Dismiss(Visitor* visitor);

  net::EventLoop& loop_;
  const Responder responder_;
  RejectionLog rejections_{"inquiries"};
  std::list<std::unique_ptr<Visitor>> visitors_;
};

}  // namespace muster::socket
