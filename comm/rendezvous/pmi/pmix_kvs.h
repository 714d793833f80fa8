// A PMIx server as a LauncherKvs: Open MPI's mpirun, srun --mpi=pmix.
//
// No call waits for all processes, so the root can name the missing ones. If the server keeps names for
// MPI_Publish_name, the root's address is one of them; Slurm's has none: there it is a value of rank 0,
// fetched from its node on demand (a "direct modex"). Uses no PMIx events, which Slurm's server lacks.
//
// Each rank of a launch has one: once a process has called init, mpirun takes others of its node without init
// for aborted.
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "comm/rendezvous/pmi/launcher_kvs.h"
#include "comm/rendezvous/pmi/pmix_api.h"

namespace muster::rendezvous {

class PmixKvs : public LauncherKvs {
 public:
  using Load = std::function<Result<std::shared_ptr<PmixApi>>()>;

  // Begins immediately, on its own thread; does not block. PMIx does not keep to deadlines: each call has its
  // own thread, which is abandoned if it hangs.
  explicit PmixKvs(Load load = LoadPmix);
  ~PmixKvs() override;

  Status Publish(const std::string& name, const std::string& text, Deadline deadline) override;
  Result<std::optional<std::string>> LookUp(const std::string& name, Deadline deadline) override;
  void Leave() override;
  std::string Describe() const override;

 private:
  using Begun = std::optional<Result<std::shared_ptr<PmixApi>>>;

  Result<std::shared_ptr<PmixApi>> Api(Deadline deadline);
  // Owns the lock if no call is under way; BLOCKS until then, at most until the deadline.
  std::unique_lock<std::timed_mutex> WaitForTurn(Deadline deadline);
  // Runs `call` after those that are under way. False: it has not returned by the deadline.
  bool Run(std::function<void()> call, Deadline deadline);
  // In a thread of its own, after the last one.
  void Begin(std::function<void()> call);
  tl::unexpected<Error> Silent() const;

  std::timed_mutex mutex_;
  std::shared_future<void> last_call_;
  std::atomic<bool> left_ = false;
  const std::shared_ptr<Begun> begun_;  // used by the first call until that has returned
};

}  // namespace muster::rendezvous
