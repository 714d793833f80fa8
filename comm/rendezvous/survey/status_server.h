// The server of `muster status`: a Unix socket of a node's leader in a directory that no other user can enter
// (net/private_directory.h). A separate step cannot derive another's meeting key, so the name starts with
// kStatusSocketPrefix, and the client lists the directories.
//
// Opened when a process begins to lead its node; the Joiner passes it to the ControlPlane. Runs on one
// EventLoop.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "comm/log/rejection_log.h"
#include "comm/net/acceptor.h"
#include "comm/net/event_loop.h"
#include "comm/net/private_directory.h"
#include "comm/rendezvous/messages/child_links.h"
#include "comm/rendezvous/messages/survey_messages.h"
#include "comm/rendezvous/messages/versions.h"

namespace muster::rendezvous {

inline constexpr std::string_view kStatusSocketPrefix = "status-";

// "status-NAMESPACE-PID-RANK-RANDOM"; NAMESPACE is that of the network: virtual nodes may share a directory.
std::string StatusSocketName(int rank);

class StatusServer {
 public:
  using Reply = std::function<void(const GroupStatus& status)>;
  // May reply later, or never.
  using Answer = std::function<void(const Survey& survey, Reply reply)>;

  // `bases`: directories to try, in order. `rank`: one of this process's, for the name. Error: kSystem.
  static Result<std::unique_ptr<StatusServer>> Open(net::EventLoop& loop, uid_t uid, int rank,
                                                    const std::vector<std::string>& bases,
                                                    const Versions& versions = {});
  StatusServer(const StatusServer&) = delete;
  StatusServer& operator=(const StatusServer&) = delete;

  // Replaces that of a former owner.
  void SetAnswer(Answer answer) { answer_ = std::move(answer); }

 private:
  StatusServer(net::EventLoop& loop, uid_t uid, Versions versions);
  void Admit(UniqueFd fd);
  void OnFrame(ChildLinks::Source source, ByteView frame);

  net::EventLoop& loop_;
  uid_t uid_;
  Versions versions_;
  Answer answer_;
  ChildLinks visitors_;
  std::map<ChildLinks::Source, uint16_t> newest_;  // the newest common version
  RejectionLog rejections_{"connections to the status socket"};
  std::unique_ptr<net::Acceptor> acceptor_;
  net::PrivateName name_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster::rendezvous
