// Where `muster status` asks: an abstract Unix socket of a node's leader, for processes of the same user
// (SO_PEERCRED). Its name starts with kStatusSocketPrefix; who asks finds it in /proc/net/unix, since a step
// of its own cannot know the meeting key of another.
//
// Opened when a process begins to lead its node, handed from the Joiner to the ControlPlane. Lives on one
// EventLoop.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string_view>

#include "comm/net/acceptor.h"
#include "comm/net/event_loop.h"
#include "comm/rendezvous/branches.h"
#include "comm/rendezvous/survey_messages.h"

namespace muster {

inline constexpr std::string_view kStatusSocketPrefix = "muster-status-";

class StatusDesk {
 public:
  using Reply = std::function<void(const GroupStatus& status)>;
  // May reply later, or never.
  using Answer = std::function<void(const Survey& survey, Reply reply)>;

  // `rank`: one of this process's, for the name. Error: kSystem.
  static Result<std::unique_ptr<StatusDesk>> Open(EventLoop& loop, uid_t uid, int rank);
  StatusDesk(const StatusDesk&) = delete;
  StatusDesk& operator=(const StatusDesk&) = delete;

  // Replaces that of a former owner.
  void SetAnswer(Answer answer) { answer_ = std::move(answer); }

 private:
  StatusDesk(EventLoop& loop, uid_t uid);
  void Admit(UniqueFd fd);
  void OnFrame(Branches::Source source, ByteView frame);

  EventLoop& loop_;
  uid_t uid_;
  Answer answer_;
  Branches visitors_;
  std::unique_ptr<Acceptor> acceptor_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster
