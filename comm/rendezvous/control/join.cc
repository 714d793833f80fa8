#include "comm/rendezvous/control/join.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>

#include "comm/net/private_directory.h"
#include "comm/net/socket.h"
#include "comm/net/socket_owner.h"
#include "comm/rendezvous/control/threaded_group.h"
#include "comm/rendezvous/join/join_request.h"
#include "comm/rendezvous/join/joiner.h"

namespace muster::rendezvous {
namespace {

// Leaves time to go to the root without a leader.
constexpr Duration kRefusedLeaderPatience = std::chrono::seconds(1);

class GroupOfOne : public Group {
 public:
  explicit GroupOfOne(std::string node) {
    roster_.nodes.push_back({std::move(node), {}});
    roster_.members.push_back({0, 0, getpid(), {}});
  }
  int rank() const override { return 0; }
  const Roster& roster() const override { return roster_; }
  const GroupKey& key() const override { return key_; }
  Result<std::vector<Bytes>> KeyedAllGather(std::string_view /*name*/, ByteView mine,
                                            Deadline /*deadline*/) override {
    return std::vector<Bytes>{Bytes(mine.begin(), mine.end())};
  }
  // poll(2) passes over negative descriptors.
  int failure_fd() const override { return -1; }
  std::optional<Error> failure() const override {
    const std::lock_guard lock(mutex_);
    return failure_;
  }
  void Fail(const Error& error) override {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = error;
  }
  Status Leave(Deadline /*deadline*/) override { return {}; }

 private:
  Roster roster_;
  GroupKey key_{};
  mutable std::mutex mutex_;
  std::optional<Error> failure_;
};

constexpr std::string_view kEndedHint =
    "unset MUSTER_CONTROL, because the muster run that set it has ended; or start this program under muster "
    "run";

std::string SocketOf(const std::string& control) { return control.substr(control.rfind('/') + 1); }

bool IsOwnedBy(const std::string& path, uid_t uid) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && status.st_uid == uid;
}

// A supervisor runs, but in another mount namespace. Its directory must have been given as a path. Any user can bind
// such a name elsewhere; kernels before Linux 5.3 do not report the owner.
bool IsOutOfSight(const std::string& control, uid_t uid) {
  return control.starts_with('/') && access(control.c_str(), F_OK) != 0 &&
         net::IsListedByKernel(SocketOf(control)) &&
         net::HasListeningUnixSocket(uid, "/" + SocketOf(control)).value_or(true);
}

Error OutOfSight(const std::string& control) {
  const std::string directory = control.substr(0, control.rfind('/'));
  const std::string base = directory.substr(0, directory.rfind('/'));
  return {Code::kBadEnvironment,
          fmt::format("the supervisor runs, but its socket, MUSTER_CONTROL={}, cannot be reached: this "
                      "process is in a container that does not share {}, or {} was removed",
                      control, base, directory),
          fmt::format("bind {} into the container; against systemd-logind's removal at logout: loginctl "
                      "enable-linger",
                      base)};
}

// Also if the path is too long for a socket.
Result<UniqueFd> DialPath(const std::string& path, Deadline deadline, int* error_number) {
  if (const auto address = net::SocketAddress::Path(path))
    return net::ConnectToPath(*address, deadline, error_number);
  const std::string directory = path.substr(0, path.rfind('/'));
  const UniqueFd fd(open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return Fail(Code::kSystem, "cannot open {}: {}", directory, ErrnoText(errno));
  MUSTER_TRY(const net::SocketAddress address,
             net::SocketAddress::Path(fmt::format("/proc/self/fd/{}/{}", fd.get(), SocketOf(path))));
  return net::ConnectToPath(address, deadline, error_number);
}

Result<UniqueFd> DialSupervisor(const std::string& control, uid_t uid, Deadline deadline) {
  if (!control.starts_with('/'))
    return WithHint(Fail(Code::kBadEnvironment, "MUSTER_CONTROL={} is not the path of a socket", control),
                    std::string(kEndedHint));
  if (!net::UserIdsAreReliable()) {
    return WithHint(
        Fail(Code::kBadEnvironment,
             "MUSTER_CONTROL={} cannot be verified: this user namespace does not map this user", control),
        "map the user: unshare --map-current-user");
  }
  int error_number = 0;
  Result<UniqueFd> dialed = DialPath(control, deadline, &error_number);
  if (!dialed && error_number == EAGAIN)
    return Fail(Code::kDeadline, "the supervisor at MUSTER_CONTROL={} accepts no connection", control);
  if (!dialed && IsOutOfSight(control, uid)) return Fail(OutOfSight(control));
  if (!dialed) {
    return WithHint(Fail(Code::kBadEnvironment, "no supervisor answers at MUSTER_CONTROL={}: {}", control,
                         dialed.error().message),
                    std::string(kEndedHint));
  }
  UniqueFd fd = *std::move(dialed);
  const auto credentials = net::CredentialsOf(fd.get());
  if (!credentials || credentials->uid != uid) {
    return WithHint(
        Fail(Code::kBadEnvironment, "the socket in MUSTER_CONTROL={} belongs to another user", control),
        std::string(kEndedHint));
  }
  return fd;
}

}  // namespace

Result<std::unique_ptr<Group>> JoinGroup(JoinRequest request) {
  const int rank = request.self.claims.front().rank;
  const LivenessOptions liveness = request.liveness;
  MUSTER_TRY(auto group, ThreadedGroup::Create(rank));
  if (!request.kvs) request.kvs = OpenLauncherKvs(request.meeting);
  group->KeepLauncherKvs(request.kvs);
  bool done = false;
  std::optional<Failure> failure;
  auto joiner =
      std::make_unique<Joiner>(group->loop(), std::move(request), [&](tl::expected<Joined, Failure> joined) {
        done = true;
        if (joined) {
          group->Attach(*std::move(joined), liveness);
        } else {
          failure = std::move(joined).error();
        }
      });
  joiner->Start();
  // The Joiner has the deadline.
  group->loop().RunUntil([&] { return done; }, Deadline::Never());
  // Before the loop goes to its own thread: the Joiner has timers on it.
  joiner.reset();
  if (failure) return tl::unexpected<Error>(std::move(failure->error));
  MUSTER_CHECK(group->Serve());
  return group;
}

ReportedRefusal ReportRefusal(JoinRequest request) {
  ReportedRefusal reported{request.self.refused.value_or(Error{})};
  request.timeouts.rendezvous = std::min(request.timeouts.rendezvous, kRefusedPatience);
  request.late_nodes = std::min(request.late_nodes, kRefusedPatience);
  request.leader_patience = std::min(request.leader_patience, kRefusedLeaderPatience);
  auto loop = net::EventLoop::Create();
  if (!loop) return reported;
  if (!request.kvs) request.kvs = OpenLauncherKvs(request.meeting);
  const std::shared_ptr<LauncherKvs> kvs = request.kvs;
  bool done = false;
  Joiner joiner(**loop, std::move(request), [&](const tl::expected<Joined, Failure>& joined) {
    done = true;
    if (joined) return;
    reported = {joined.error().error, joiner.failure_is_from_parent(), joined.error().logged_in};
  });
  joiner.Start();
  // The Joiner has the deadline.
  (*loop)->RunUntil([&] { return done; }, Deadline::Never());
  if (kvs) kvs->Leave();
  return reported;
}

bool IsSupervisorThere(const std::string& control, uid_t uid) {
  if (!control.starts_with('/')) return false;
  if (!net::UserIdsAreReliable()) return access(control.c_str(), F_OK) == 0;
  const auto dialed = DialSupervisor(control, uid, Deadline::After(Duration::zero()));
  // One that starts many programs does not accept meanwhile.
  if (!dialed && dialed.error().code == Code::kDeadline) return IsOwnedBy(control, uid);
  return dialed.has_value() || IsOutOfSight(control, uid);
}

std::optional<uid_t> OtherOwnerOf(const std::string& control, uid_t uid) {
  if (!control.starts_with('/') || !net::UserIdsAreReliable()) return std::nullopt;
  const auto other = [uid](const struct stat& status) {
    return status.st_uid == uid ? std::nullopt : std::optional(status.st_uid);
  };
  struct stat status {};
  if (lstat(control.c_str(), &status) == 0) return S_ISSOCK(status.st_mode) ? other(status) : std::nullopt;
  if (errno != EACCES) return std::nullopt;
  const std::string directory = control.substr(0, control.rfind('/'));
  return lstat(directory.c_str(), &status) == 0 ? other(status) : std::nullopt;
}

Result<AdoptedGroup> AdoptGroup(const std::string& control, const std::string& group_id, int rank, uid_t uid,
                                const LivenessOptions& liveness, Deadline deadline,
                                const Versions& versions) {
  const std::string supervisor = fmt::format("the supervisor at MUSTER_CONTROL={}", control);
  MUSTER_TRY(UniqueFd fd, DialSupervisor(control, uid, deadline));
  MUSTER_TRY(auto group, ThreadedGroup::Create(rank));
  std::optional<Adoption> adoption;
  Result<uint16_t> common =
      WithHint(Fail(Code::kBadEnvironment, "{} closed the connection without an answer", supervisor),
               "install the same release of muster inside and outside");
  bool closed = false;
  const auto fits = [&] { return adoption->group.roster.group_id == group_id && adoption->rank == rank; };
  auto stream = std::make_unique<net::FrameStream>(group->loop(), std::move(fd), kLongestMessage);
  stream->Start(
      [&](ByteView frame) {
        if (ControlTypeOf(frame) == ControlType::kVersions) {
          const Result<Versions> theirs = DecodeVersions(frame);
          if (!theirs) return;
          common = CommonVersion({"this program", versions}, {supervisor, *theirs});
          closed = closed || !common;
          return;
        }
        if (adoption || !common || ControlTypeOf(frame) != ControlType::kAdopted) return;
        Result<Adoption> decoded = Decode<Adoption>(frame);
        if (!decoded) return;
        adoption = *std::move(decoded);
        if (!fits()) return;
        // Immediately: the next event (the group's failure) is for the new owner.
        const std::string name =
            fmt::format("the supervisor of {}", DescribeRank(adoption->group.roster, rank));
        group->Attach(Joined{std::make_shared<const FormedGroup>(adoption->group), std::move(stream),
                             std::make_unique<ChildLinks>(), nullptr, name},
                      liveness);
      },
      [&](const Error&) { closed = true; });
  stream->Send(Encode(versions));
  stream->Send(Encode(AdoptionRequest{rank}));
  if (!group->loop().RunUntil([&] { return adoption || closed; }, deadline)) {
    return Fail(Code::kDeadline, "{} did not answer in time", supervisor);
  }
  if (!common) return Fail(common.error());
  if (!adoption) return Fail(Code::kBadEnvironment, "{} does not know rank {}", supervisor, rank);
  if (!fits()) {
    return Fail(Code::kBadEnvironment, "MUSTER_CONTROL={} belongs to group {}, MUSTER_GROUP is {}", control,
                adoption->group.roster.group_id, group_id);
  }
  group->set_incarnation(adoption->incarnation);
  MUSTER_CHECK(group->Serve());
  return AdoptedGroup{std::move(group), std::move(adoption->configuration), std::move(adoption->job_key),
                      adoption->incarnation};
}

std::unique_ptr<Group> MakeGroupOfOne(std::string node) {
  return std::make_unique<GroupOfOne>(std::move(node));
}

}  // namespace muster::rendezvous
