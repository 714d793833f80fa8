// Finds the owner of a connection to the group's store, on any node.
//
//   up     the question, from the supervisor that serves the store to the root; answers
//   down   the question, to the one node that it names; the answer
//
// Each process of that node checks its own programs; a leader forwards the question to its followers. The
// most specific answer counts (the order of OwnerKind). Part of a ControlPlane, on its EventLoop; nothing
// blocks. A question times out after a few seconds: then the answer is not complete. A process that is lost has no
// answer.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "comm/rendezvous/liveness/owner_messages.h"
#include "comm/rendezvous/messages/tree_links.h"
#include "comm/roster.h"

namespace muster::rendezvous {

class OwnerInquiry {
 public:
  using Look = std::function<OwnerAnswer(const OwnerQuestion&)>;
  using OnAnswer = std::function<void(const OwnerAnswer&)>;
  struct Params {
    TreeLinks& links;
    const Roster& roster;
    int node = 0;  // this process's; index into roster.nodes
    Look look;     // this process's own; may be empty
    // Processes answer in well under a millisecond, or they are stopped.
    Duration collect_for = std::chrono::seconds(3);
  };

  explicit OwnerInquiry(Params params) : params_(std::move(params)) {}
  OwnerInquiry(const OwnerInquiry&) = delete;
  OwnerInquiry& operator=(const OwnerInquiry&) = delete;

  // `on_answer` is called once, immediately or later, unless this ends before. The question's id is set here.
  void Ask(OwnerQuestion question, OnAnswer on_answer);
  void ReceiveFromParent(ByteView frame);
  void ReceiveFromChild(ChildLinks::Source source, ByteView frame);
  // A child has gone: it answers nothing more.
  void Forget(ChildLinks::Source source);

 private:
  struct Asked {
    OnAnswer on_answer;
    net::Timer timer;
  };
  struct Collected {
    ChildLinks::Source asker = ChildLinks::kSelf;  // kSelf: this process or, below the root, upstream
    OwnerAnswer best;
    std::set<ChildLinks::Source> waits_for;
    net::Timer timer;
  };

  void Collect(const OwnerQuestion& question, ChildLinks::Source asker);
  std::vector<ChildLinks::Source> ChildLinksFor(const OwnerQuestion& question) const;
  void Take(ChildLinks::Source source, const OwnerAnswer& answer);
  void Conclude(uint64_t id);
  void Deliver(const OwnerAnswer& answer);

  const Params params_;
  uint64_t next_id_ = 1;
  std::map<uint64_t, Asked> asked_;                   // own questions
  std::map<uint64_t, ChildLinks::Source> passed_up_;  // forwarded questions, on their way to the root
  std::map<uint64_t, Collected> collected_;           // questions that came from above, or are the root's
};

}  // namespace muster::rendezvous
