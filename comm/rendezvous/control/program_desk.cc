#include "comm/rendezvous/control/program_desk.h"

#include <algorithm>

#include "comm/log/log.h"
#include "comm/net/socket.h"

namespace muster {

Result<std::unique_ptr<ProgramDesk>> ProgramDesk::Open(EventLoop& loop, ControlPlane& plane, Params params,
                                                       OnLost on_lost) {
  std::unique_ptr<ProgramDesk> desk(new ProgramDesk(loop, plane, std::move(params), std::move(on_lost)));
  MUSTER_TRY(PrivateSocket socket, PrivateSocket::Open(desk->params_.bases, UniqueSocketName("control"),
                                                       PrivateSocket::Kind::kListener));
  ProgramDesk* raw = desk.get();
  desk->acceptor_ = std::make_unique<Acceptor>(
      loop, std::move(socket.fd), [raw](UniqueFd fd, const SocketAddress&) { raw->Admit(std::move(fd)); });
  desk->name_ = std::move(socket.name);
  MUSTER_CHECK(desk->acceptor_->Start());
  return desk;
}

ProgramDesk::ProgramDesk(EventLoop& loop, ControlPlane& plane, Params params, OnLost on_lost)
    : loop_(loop),
      plane_(plane),
      params_(std::move(params)),
      on_lost_(std::move(on_lost)),
      surveyor_(loop, {plane.group().roster,
                       programs_,
                       {},
                       [](ByteView) { return false; },
                       [](int) { return false; },
                       true,
                       {}}) {
  programs_.SetHandlers([this](Branches::Source source, ByteView frame) { OnFrame(source, frame); },
                        [this](Branches::Source source, const Branches::Branch& branch, const Error&) {
                          OnClosed(source, branch);
                        });
}

ProgramDesk::~ProgramDesk() = default;

void ProgramDesk::Admit(UniqueFd fd) {
  const auto credentials = CredentialsOf(fd.get());
  if (!credentials || credentials->uid != params_.uid) {
    const uid_t uid = credentials ? credentials->uid : 0;
    return rejections_.Add(LogLevel::kWarning, {{"uid", uid}},
                           fmt::format("refused a program of uid {}", uid));
  }
  programs_.Add(std::make_unique<FrameStream>(loop_, std::move(fd), kLongestMessage),
                fmt::format("pid {}", credentials->pid), true);
}

void ProgramDesk::OnFrame(Branches::Source source, ByteView frame) {
  const auto type = ControlTypeOf(frame);
  if (!type) return programs_.Remove(source);
  if (*type == ControlType::kVersions) return OnVersions(source, frame);
  const auto version = versions_.find(source);
  if (version == versions_.end()) return RefuseUnversioned(source);
  // Refused: the program reads the versions and ends the connection.
  if (!version->second) return;
  switch (*type) {
    case ControlType::kAdopt:
      if (const auto rank = DecodeAdopt(frame)) return Adopt(source, *rank);
      return programs_.Remove(source);
    case ControlType::kExchange:
      if (const auto part = DecodeExchange(frame)) plane_.Contribute(*part);
      return;
    case ControlType::kFailure:
      if (auto failure = DecodeFailure(frame)) plane_.Fail(*std::move(failure));
      return;
    case ControlType::kLate:
      return plane_.NoteLate();
    case ControlType::kSurveyed:
      if (const auto answer = DecodeSurveyed(frame)) surveyor_.OnAnswerFromBelow(*answer);
      return;
    case ControlType::kGoodbye:
      // A program's goodbye ends here: its supervisor's own comes when it has ended.
      if (Branches::Branch* branch = programs_.Find(source)) branch->ranks.clear();
      return programs_.Send(source, EncodeBare(ControlType::kReleased));
    default:
      return;
  }
}

void ProgramDesk::OnVersions(Branches::Source source, ByteView frame) {
  const Result<Versions> theirs = DecodeVersions(frame);
  if (!theirs) return programs_.Remove(source);
  programs_.Send(source, Encode(params_.versions));
  const std::string& name = programs_.Find(source)->name;
  const Result<uint16_t> common = CommonVersion({"this supervisor", params_.versions}, {name, *theirs});
  versions_[source] = common ? std::optional(*common) : std::nullopt;
  if (!common)
    rejections_.Add(LogLevel::kWarning, {}, fmt::format("refused a program: {}", ToString(common.error())));
}

// A program of a muster before there were versions, which waits for an answer.
void ProgramDesk::RefuseUnversioned(Branches::Source source) {
  rejections_.Add(
      LogLevel::kWarning, {},
      fmt::format("refused a program: {} did not send its versions, this supervisor has muster {}",
                  programs_.Find(source)->name, params_.versions.release));
  programs_.Remove(source);
}

void ProgramDesk::Adopt(Branches::Source source, int rank) {
  if (std::ranges::count(plane_.own_ranks(), rank) == 0) {
    LogWarning("a program asked to be rank {}, which is not one of this supervisor's", rank);
    return programs_.Remove(source);
  }
  programs_.Find(source)->ranks = {rank};
  const int incarnation = adopted_[rank]++;
  programs_.Send(source,
                 Encode(Adoption{plane_.group(), rank, incarnation, params_.configuration, params_.job_key}));
  if (!latest_.IsNever()) programs_.Send(source, EncodeJobEnd(MillisecondsLeft(latest_)));
  if (plane_.failure()) programs_.Send(source, Encode(*plane_.failure()));
}

void ProgramDesk::OnClosed(Branches::Source source, const Branches::Branch& branch) {
  versions_.erase(source);
  if (!branch.ranks.empty()) on_lost_(branch.ranks.front());
}

void ProgramDesk::Ask(const Survey& survey, std::function<void(Surveyor::Reports)> then) {
  surveyor_.AskBelow(survey, [then = std::move(then)](const Surveyed& answer) { then(answer.reports); });
}

void ProgramDesk::Publish(const Exchange& whole) {
  programs_.SendAll(Encode(whole, ControlType::kExchanged));
}

void ProgramDesk::Announce(const Failure& failure) { programs_.SendAll(Encode(failure)); }

void ProgramDesk::TellJobEnd(Deadline latest) {
  latest_ = latest;
  programs_.SendAll(EncodeJobEnd(MillisecondsLeft(latest)));
}

}  // namespace muster
