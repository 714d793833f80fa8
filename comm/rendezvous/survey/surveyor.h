// Surveys the state of a group's ranks, and answers surveys for this process. The request goes up to the
// root, then down to every process. Each hop waits a little shorter than the one above. So the process next
// to a silent rank reports it as silent, and the answer comes in time.
//
// Runs on one EventLoop, beside a ControlPlane; nothing blocks.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "comm/net/event_loop.h"
#include "comm/rendezvous/messages/child_links.h"
#include "comm/rendezvous/messages/survey_messages.h"

namespace muster::rendezvous {

class Surveyor {
 public:
  using Reports = std::vector<RankReport>;
  // Gives the reports of this process's own ranks, immediately or within the survey's time.
  using ReportOwn = std::function<void(const Survey& survey, std::function<void(Reports)> reply)>;
  struct Surroundings {
    const Roster& roster;
    ChildLinks& children;
    std::vector<int> own_ranks;
    std::function<bool(ByteView frame)> send_up;  // false without a process above
    std::function<bool(int rank)> has_left;
    bool is_root = false;
    ReportOwn report_own;                                        // empty: the own ranks are in the group
    std::function<std::vector<map::MapState>()> maps = nullptr;  // the root's; empty: there are no maps
  };
  using OnAnswer = std::function<void(Surveyed answer)>;

  Surveyor(net::EventLoop& loop, Surroundings surroundings);
  Surveyor(const Surveyor&) = delete;
  Surveyor& operator=(const Surveyor&) = delete;

  // All reports, by rank. `then` is called within one and a half times survey.milliseconds and half a second;
  // survey.number is not used.
  void AskAll(const Survey& survey, OnAnswer then);

  // The reports of this process and those below alone.
  void AskBelow(const Survey& survey, OnAnswer then);

  // They had not left before. No survey waits for them: their processes may end without an answer.
  void NoteLeft(const std::set<int>& ranks);

  // Survey or Surveyed.
  void ReceiveFromParent(ByteView frame);
  void ReceiveFromChild(ChildLinks::Source source, ByteView frame);

 private:
  struct Round {
    std::map<int, RankReport> reports;
    std::set<int> awaited;
    OnAnswer then;
    net::Timer timer;
  };
  struct Question {
    Survey survey;
    OnAnswer then;
    net::Timer timer;
  };

  void Take(uint64_t number, const Reports& reports);
  void Finish(uint64_t number);
  void AskThisNode(uint64_t number);
  RankReport Silent(int rank) const;
  void AddAbsent(Reports& reports) const;

  net::EventLoop& loop_;
  Surroundings at_;
  std::map<uint64_t, Round> rounds_;
  std::map<uint64_t, Question> questions_;
  uint64_t next_ = 1;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster::rendezvous
