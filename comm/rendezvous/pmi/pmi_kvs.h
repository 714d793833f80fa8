// A PMI server as a LauncherKvs: MPICH's Hydra, srun --mpi=pmi2. A client of the wire protocol, over the descriptor
// that the launcher left open (PMI_FD).
//
// Uses the names that the server keeps for MPI_Publish_name (publish, unpublish, look up) and not its
// key-value space: that one is only to be read after a barrier of all processes, and a barrier can say
// nothing of who has not come. So only those speak that have something to say or to ask.
//
// Hydra lets one connection be begun again, so that an MPI program below a supervisor of ours finds its
// server as if nobody had been there; the end ("finalize"), which it wants to hear, is the end of the
// connection. srun takes one beginning alone, and a second one, in the older version of the protocol, leaves
// slurmstepd waiting for ever: programs do not inherit its connection, so that MPI in them fails at once. MPI
// in this very process has begun before us or will begin after us, and ends by
// itself.
#pragma once

#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/rendezvous/pmi/launcher_kvs.h"
#include "comm/rendezvous/pmi/pmi_wire.h"

namespace muster::rendezvous {

class PmiKvs : public LauncherKvs {
 public:
  // The descriptor stays the launcher's: it is not closed here. Does no I/O.
  explicit PmiKvs(PmiAccess access);
  ~PmiKvs() override;

  Status Publish(const std::string& name, const std::string& text, Deadline deadline) override;
  Result<std::optional<std::string>> LookUp(const std::string& name, Deadline deadline) override;
  void Rest() override;
  void Wake() override { resting_ = false; }
  void Leave() override;
  std::string Describe() const override;

 private:
  using Fields = std::vector<std::pair<std::string_view, std::string_view>>;
  struct Words {
    std::string_view question;
    std::string_view answer;
  };
  struct Vocabulary;
  static const Vocabulary& VocabularyOf(PmiVersion version);

  Result<PmiMessage> Ask(const Words& words, const Fields& fields, Deadline deadline);
  bool IsThere() const;
  Status Begin(Deadline deadline);
  Status Greet(Deadline deadline);
  Result<PmiMessage> Transact(PmiVersion version, std::string_view question, const Fields& fields,
                              std::string_view answer, Deadline deadline);
  Status HearWhatIsOwed(Deadline deadline);
  Result<PmiMessage> Receive(PmiVersion version, Deadline deadline);
  Status Send(std::string_view text, Deadline deadline);
  Status Wait(short events, Deadline deadline) const;
  tl::unexpected<Error> Silent() const;
  tl::unexpected<Error> HungUp();
  tl::unexpected<Error> Unusable(std::string_view how);

  const PmiAccess access_;
  std::atomic<bool> resting_ = false;
  std::timed_mutex mutex_;
  std::string received_;
  std::deque<PmiVersion> owed_;  // answers, in the order of their questions
  bool spoken_ = false;
  bool begun_ = false;
  bool mpi_was_here_ = false;  // it had begun the connection, in this process
  std::optional<Error> broken_;
};

}  // namespace muster::rendezvous
