#include "comm/rendezvous/control/adoption_server.h"

#include <algorithm>

#include "comm/base/parse.h"
#include "comm/log/log.h"
#include "comm/net/socket.h"
#include "comm/rendezvous/control/group_answers.h"

namespace muster::rendezvous {
namespace {

// Of the programs of an exchange; -1: it is not one among programs.
int IncarnationOf(std::string_view exchange) {
  if (!exchange.starts_with(kAmongPrograms)) return -1;
  exchange.remove_prefix(kAmongPrograms.size());
  return ParseInteger<int>(exchange.substr(0, exchange.find('/'))).value_or(-1);
}

}  // namespace

Result<std::unique_ptr<AdoptionServer>> AdoptionServer::Open(net::EventLoop& loop, ControlPlane& plane,
                                                             Params params, OnLost on_lost) {
  std::unique_ptr<AdoptionServer> server(
      new AdoptionServer(loop, plane, std::move(params), std::move(on_lost)));
  MUSTER_TRY(net::PrivateSocket socket,
             net::PrivateSocket::Open(server->params_.bases, net::UniqueSocketName("control"),
                                      net::PrivateSocket::Kind::kListener));
  AdoptionServer* raw = server.get();
  server->acceptor_ = std::make_unique<net::Acceptor>(
      loop, std::move(socket.fd),
      [raw](UniqueFd fd, const net::SocketAddress&) { raw->Admit(std::move(fd)); });
  server->name_ = std::move(socket.name);
  MUSTER_CHECK(server->acceptor_->Start());
  return server;
}

AdoptionServer::AdoptionServer(net::EventLoop& loop, ControlPlane& plane, Params params, OnLost on_lost)
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
  programs_.SetHandlers([this](ChildLinks::Source source, ByteView frame) { OnFrame(source, frame); },
                        [this](ChildLinks::Source source, const ChildLinks::Child& child, const Error&) {
                          OnClosed(source, child);
                        });
}

AdoptionServer::~AdoptionServer() = default;

void AdoptionServer::Admit(UniqueFd fd) {
  const auto credentials = net::CredentialsOf(fd.get());
  if (!credentials || credentials->uid != params_.uid) {
    const uid_t uid = credentials ? credentials->uid : 0;
    return rejections_.Add(LogLevel::kWarning, {{"uid", uid}},
                           fmt::format("refused a program of uid {}", uid));
  }
  programs_.Add(std::make_unique<net::FrameStream>(loop_, std::move(fd), kLongestMessage),
                fmt::format("pid {}", credentials->pid), true);
}

void AdoptionServer::OnFrame(ChildLinks::Source source, ByteView frame) {
  const auto type = ControlTypeOf(frame);
  if (!type) return programs_.Remove(source);
  if (*type == ControlType::kVersions) return OnVersions(source, frame);
  const auto version = versions_.find(source);
  if (version == versions_.end()) return RefuseUnversioned(source);
  // Refused: the program reads the versions and ends the connection.
  if (!version->second) return;
  switch (*type) {
    case ControlType::kAdopt:
      if (const auto request = Decode<AdoptionRequest>(frame)) return Adopt(source, request->rank);
      return programs_.Remove(source);
    case ControlType::kKeyedAllGather:
      if (const auto part = Decode<KeyedAllGather>(frame)) plane_.exchanges().Contribute(*part);
      return;
    case ControlType::kFailure:
      if (auto failure = Decode<Failure>(frame)) plane_.failures().Fail(*std::move(failure));
      return;
    case ControlType::kToRoot:
      if (const auto message = Decode<RankMessage>(frame); message && SpeaksFor(source, message->rank))
        plane_.maps().SendToRoot(message->rank, message->content);
      return;
    case ControlType::kLate:
      return plane_.survey().NoteLate();
    case ControlType::kSurvey:
      if (const auto survey = Decode<Survey>(frame)) AskAll(source, *survey);
      return;
    case ControlType::kSurveyed:
      return surveyor_.ReceiveFromChild(source, frame);
    case ControlType::kLeave:
      // A program's leave message ends here: its supervisor's own comes when it has ended.
      if (ChildLinks::Child* child = programs_.Find(source)) {
        // Items of a map that it has kept go to other ranks.
        if (plane_.maps().tolerates()) plane_.maps().Lose({child->ranks, ""});
        child->ranks.clear();
      }
      in_group_.erase(source);
      return programs_.Send(source, EncodeBare(ControlType::kReleased));
    default:
      return;
  }
}

void AdoptionServer::OnVersions(ChildLinks::Source source, ByteView frame) {
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
void AdoptionServer::RefuseUnversioned(ChildLinks::Source source) {
  rejections_.Add(
      LogLevel::kWarning, {},
      fmt::format("refused a program: {} did not send its versions, this supervisor has muster {}",
                  programs_.Find(source)->name, params_.versions.release));
  programs_.Remove(source);
}

void AdoptionServer::Adopt(ChildLinks::Source source, int rank) {
  if (std::ranges::count(plane_.own_ranks(), rank) == 0) {
    LogWarning("a program requested to be rank {}, which is not one of this supervisor's", rank);
    return programs_.Remove(source);
  }
  ChildLinks::Child& program = *programs_.Find(source);
  program.ranks = {rank};
  const auto credentials = net::CredentialsOf(program.stream->fd());
  const int incarnation = adopted_[rank]++;
  in_group_[source] = {rank, incarnation, credentials ? credentials->pid : 0};
  programs_.Send(source,
                 Encode(Adoption{plane_.group(), rank, incarnation, params_.configuration, params_.job_key}));
  if (!latest_.IsNever()) programs_.Send(source, Encode(JobEnd{MillisecondsLeft(latest_)}));
  if (plane_.failure()) programs_.Send(source, Encode(*plane_.failure()));
}

void AdoptionServer::AskAll(ChildLinks::Source source, const Survey& survey) {
  // The answer must reach the program before the program's own timeout.
  const Duration patience = FromMilliseconds(survey.milliseconds) * 3 / 4;
  plane_.survey().AskAll(
      patience, [this, source, number = survey.number, alive = std::weak_ptr<bool>(alive_)](Surveyed answer) {
        if (alive.expired()) return;
        answer.number = number;
        answer.maps.clear();  // a program of the release before cannot read them
        programs_.Send(source, Encode(answer));
      });
}

void AdoptionServer::OnClosed(ChildLinks::Source source, const ChildLinks::Child& child) {
  versions_.erase(source);
  const auto program = in_group_.extract(source);
  if (!child.ranks.empty()) on_lost_(child.ranks.front(), program.empty() ? 0 : program.mapped().process);
}

void AdoptionServer::Ask(const Survey& survey, std::function<void(Surveyor::Reports)> then) {
  surveyor_.AskBelow(survey, [then = std::move(then)](const Surveyed& answer) { then(answer.reports); });
}

// An exchange comes before each survey of a rank that has its result: a rank that waits in a group of programs never takes
// a leave message of the group before for one of its own.
void AdoptionServer::Publish(const KeyedAllGather& whole) {
  formed_ = std::max(formed_, IncarnationOf(whole.name));
  programs_.SendAll(Encode(whole, ControlType::kKeyedAllGathered));
}

void AdoptionServer::Announce(const Failure& failure) { programs_.SendAll(Encode(failure)); }

bool AdoptionServer::HasLeft(int rank) const {
  return formed_ >= 0 && std::ranges::none_of(in_group_, [&](const auto& entry) {
           return entry.second.rank == rank && entry.second.incarnation <= formed_;
         });
}

bool AdoptionServer::SpeaksFor(ChildLinks::Source source, int rank) {
  const ChildLinks::Child* child = programs_.Find(source);
  return child != nullptr && child->ranks == std::vector<int>{rank};
}

void AdoptionServer::Deliver(int rank, ByteView map_message) {
  const Bytes frame = Encode(RankMessage{rank, map_message}, ControlType::kToRank);
  for (const auto& [source, child] : programs_.all()) {
    if (child.ranks == std::vector<int>{rank}) child.stream->Send(frame);
  }
}

void AdoptionServer::SendJobEnd(Deadline latest) {
  latest_ = latest;
  programs_.SendAll(Encode(JobEnd{MillisecondsLeft(latest)}));
}

}  // namespace muster::rendezvous
