#include "comm/socket/transport/inquiry.h"

#include <fmt/core.h>
#include <sys/epoll.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace muster::socket {
namespace {

using AnswerBytes = std::array<uint8_t, 1>;

constexpr uint8_t kThere = 0;
constexpr uint8_t kHasLeft = 3;

void LogAltered(RejectionLog& log, std::string_view what, int rank) {
  const std::string reason = fmt::format("{} of rank {} was changed on the way", what, rank);
  log.Add(LogLevel::kWarning, {{"reason", reason}}, reason + "; ignored");
}

}  // namespace

Shake InquiryMessages::Write(int fd, ByteView message) {
  if (!keys_) return messages_.Write(fd, message);
  Bytes record(message.size() + auth::kSealOverhead);
  auth::RecordSealer(keys_->cipher, keys_->outgoing).Seal(message, record.data());
  return messages_.Write(fd, record);
}

Shake InquiryMessages::Read(int fd, std::span<uint8_t> into) {
  const size_t overhead = keys_ ? auth::kSealOverhead : 0;
  const std::span<uint8_t> record = std::span(incoming_).first(into.size() + overhead);
  if (const Shake shake = messages_.Read(fd, record); shake != Shake::kDone) return shake;
  if (!keys_) {
    std::ranges::copy(record, into.begin());
    return Shake::kDone;
  }
  const bool authentic = auth::RecordOpener(keys_->cipher, keys_->incoming).Open(record, into.data());
  return authentic ? Shake::kDone : Shake::kRejected;
}

Inquiry::Inquiry(net::EventLoop& loop, std::unique_ptr<Dial> dial, const Call& call)
    : loop_(loop), dial_(std::move(dial)), call_(call) {
  Advance();
}

Inquiry::~Inquiry() { Close(state_); }

void Inquiry::Close(State state) {
  state_ = state;
  dial_.reset();
  if (fd_) loop_.Forget(fd_.get());
  fd_.Reset();
}

void Inquiry::OnTime() {
  if (dial_) dial_->OnTime();
  Advance();
}

void Inquiry::Advance() {
  if (state_ != State::kOpen || !dial_ || dial_->state() == Dial::State::kTrying) return;
  if (dial_->state() == Dial::State::kFailed)
    return Close(dial_->refused() ? State::kRefused : State::kFailed);
  peer_ = dial_->key().peer;
  ProvenLink link = dial_->TakeConnection();
  fd_ = std::move(link.fd);
  messages_ = InquiryMessages(link.keys);
  dial_.reset();
  const Status watched = loop_.Watch(fd_.get(), EPOLLIN, [this](uint32_t) { OnAnswer(); });
  const FrameBytes question = EncodeFrame({FrameKind::kInquiry, call_, 0});
  if (!watched || messages_.Write(fd_.get(), question) != Shake::kDone) Close(State::kFailed);
}

void Inquiry::OnAnswer() {
  AnswerBytes bytes{};
  const Shake shake = messages_.Read(fd_.get(), bytes);
  if (shake == Shake::kPending) return;
  if (shake == Shake::kRejected) LogAltered(rejections_, "an answer", peer_);
  if (shake != Shake::kDone) return Close(State::kFailed);
  Close(bytes[0] == kHasLeft ? State::kLeft : State::kAnswered);
}

InquiryServer::~InquiryServer() {
  while (!visitors_.empty()) Dismiss(visitors_.front().get());
}

void InquiryServer::Receive(int from, ProvenLink link) {
  auto visitor = std::make_unique<Visitor>(Visitor{from, {}, InquiryMessages(link.keys)});
  Visitor* raw = visitor.get();
  // Otherwise the sender's connection closes, which counts as no answer.
  if (!loop_.Watch(link.fd.get(), EPOLLIN, [this, raw](uint32_t) { OnReady(raw); })) return;
  raw->fd = std::move(link.fd);
  visitors_.push_back(std::move(visitor));
  OnReady(raw);
}

void InquiryServer::OnReady(Visitor* visitor) {
  FrameBytes bytes{};
  const Shake shake = visitor->messages.Read(visitor->fd.get(), bytes);
  if (shake == Shake::kPending) return;
  if (shake == Shake::kRejected) LogAltered(rejections_, "a question", visitor->rank);
  const std::optional<Frame> question = shake == Shake::kDone ? DecodeFrame(bytes) : std::nullopt;
  if (question && question->kind == FrameKind::kInquiry) {
    // Delivery does not matter here: a sender that has gone does not need the answer.
    const AnswerBytes answer = {responder_(visitor->rank, question->call) ? kHasLeft : kThere};
    visitor->messages.Write(visitor->fd.get(), answer);
  }
  Dismiss(visitor);
}

void InquiryServer::Dismiss(Visitor* visitor) {
  loop_.Forget(visitor->fd.get());
  std::erase_if(visitors_, [visitor](const auto& other) { return other.get() == visitor; });
}

}  // namespace muster::socket
