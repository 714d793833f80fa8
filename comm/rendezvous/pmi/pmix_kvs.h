// A PMIx server as a LauncherKvs: Open MPI's mpirun, srun --mpi=pmix.
//
// No call waits for all processes, so that the root can say who has not come. Where the server keeps names
// for MPI_Publish_name, the root's address is one of them; Slurm's has none: there it is a value of rank 0's, fetched
// from its node on demand (a "direct modex"). Needs none of PMIx's events, which Slurm's server does not have
// either.
//
// Each rank of a launch has one: mpirun takes a process that has not begun for an accident, once another one
// of its node has.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "comm/rendezvous/pmi/launcher_kvs.h"
#include "comm/rendezvous/pmi/pmix_api.h"
#include "comm/system/abandonable_calls.h"

namespace muster::rendezvous {

class PmixKvs : public LauncherKvs {
 public:
  using Load = std::function<Result<std::shared_ptr<PmixApi>>()>;

  // Begins at once, on a thread of its own; does not block. PMIx takes no deadline that it keeps: each call
  // has such a thread, and is left behind where it does not come back.
  explicit PmixKvs(Load load = LoadPmix);
  ~PmixKvs() override;

  Status Publish(const std::string& name, const std::string& text, Deadline deadline) override;
  Result<std::optional<std::string>> LookUp(const std::string& name, Deadline deadline) override;
  void Leave() override;
  std::string Describe() const override;

 private:
  using Begun = std::optional<Result<std::shared_ptr<PmixApi>>>;

  Result<std::shared_ptr<PmixApi>> Api(Deadline deadline);
  tl::unexpected<Error> Silent() const;

  AbandonableCalls calls_;
  std::atomic<bool> left_ = false;
  const std::shared_ptr<Begun> begun_;  // belongs to the first call until that has come back
};

}  // namespace muster::rendezvous
