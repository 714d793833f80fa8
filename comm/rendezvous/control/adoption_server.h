// The supervisor's side of adoption. The programs that it started connect here (Unix socket, same uid) and
// receive the roster and the keys. They use the group's exchanges and receive its failures through their
// supervisor.
//
// Runs on one EventLoop, beside the supervisor's ControlPlane.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/log/rejection_log.h"
#include "comm/net/acceptor.h"
#include "comm/net/event_loop.h"
#include "comm/net/private_directory.h"
#include "comm/rendezvous/control/control_plane.h"
#include "comm/rendezvous/messages/child_links.h"
#include "comm/rendezvous/messages/versions.h"
#include "comm/rendezvous/survey/surveyor.h"

namespace muster::rendezvous {

class AdoptionServer {
 public:
  struct Params {
    uid_t uid = 0;
    std::string configuration;  // passed to the programs
    std::string job_key;
    std::vector<std::string> bases = net::PrivateBases();  // candidate directories of the socket, in order
    Versions versions{};
  };
  // An adopted program of this rank has ended without leaving. `process`: the one that was connected, which may be a child of
  // the rank's program; 0: not known.
  using OnLost = std::function<void(int rank, pid_t process)>;

  // Listens from now on. `plane` must outlive it. Error: kSystem.
  static Result<std::unique_ptr<AdoptionServer>> Open(net::EventLoop& loop, ControlPlane& plane,
                                                      Params params, OnLost on_lost);
  AdoptionServer(const AdoptionServer&) = delete;
  AdoptionServer& operator=(const AdoptionServer&) = delete;
  ~AdoptionServer();

  // For MUSTER_CONTROL: the path of the socket.
  std::string path() const { return name_.path(); }

  // Pass on the events of the control plane.
  void Publish(const KeyedAllGather& whole);
  void Announce(const Failure& failure);
  // Also to those that are adopted later.
  void SendJobEnd(Deadline latest);

  // From the root's service of maps, to the program of this rank.
  void Deliver(int rank, ByteView map_message);

  // The rank's programs have left every group of programs that has formed. A program that is about to form the next one
  // does not count: the ranks of the group before wait for it in vain.
  bool HasLeft(int rank) const;

  // Reports the state of the adopted programs; a rank without one is not in the answer.
  void Ask(const Survey& survey, std::function<void(Surveyor::Reports)> then);

 private:
  AdoptionServer(net::EventLoop& loop, ControlPlane& plane, Params params, OnLost on_lost);
  void Admit(UniqueFd fd);
  void OnFrame(ChildLinks::Source source, ByteView frame);
  void OnClosed(ChildLinks::Source source, const ChildLinks::Child& child);
  void OnVersions(ChildLinks::Source source, ByteView frame);
  void RefuseUnversioned(ChildLinks::Source source);
  void Adopt(ChildLinks::Source source, int rank);
  bool SpeaksFor(ChildLinks::Source source, int rank);
  void AskAll(ChildLinks::Source source, const Survey& survey);

  net::EventLoop& loop_;
  ControlPlane& plane_;
  Params params_;
  OnLost on_lost_;
  RejectionLog rejections_{"connections of programs"};
  std::unique_ptr<net::Acceptor> acceptor_;
  net::PrivateName name_;
  ChildLinks programs_;
  Surveyor surveyor_;
  // By program: the newest common version; absent if the program was refused.
  std::map<ChildLinks::Source, std::optional<uint16_t>> versions_;
  struct Program {
    int rank = 0;
    int incarnation = 0;
    pid_t process = 0;  // 0: not known
  };
  std::map<ChildLinks::Source, Program> in_group_;  // the adopted programs that have not left
  std::map<int, int> adopted_;                      // by rank: number of programs adopted so far
  int formed_ = -1;                                 // the last incarnation whose programs have formed a group
  Deadline latest_ = Deadline::Never();
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster::rendezvous
