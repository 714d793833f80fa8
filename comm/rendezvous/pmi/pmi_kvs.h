// A PMI server as a LauncherKvs: MPICH's Hydra, srun --mpi=pmi2. A client of the wire protocol, over the
// inherited descriptor (PMI_FD).
//
// Uses the names that the server keeps for MPI_Publish_name (publish, unpublish, look up), not its key-value
// space. That one is readable only after a barrier of all processes, and a barrier cannot report missing
// ranks. So only processes with a request send messages.
//
// Hydra accepts a second init on a connection, so an MPI program below a muster supervisor finds its server
// unused. The final message ("finalize"), which Hydra requires, ends the connection. srun accepts one init
// only: a second one, in the older version of the protocol, blocks slurmstepd forever. So programs do not
// inherit its connection, and MPI in them fails immediately. MPI in this same process has called init before,
// or will call it later, and finalizes by itself.
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
  Status ReceiveOutstanding(Deadline deadline);
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
