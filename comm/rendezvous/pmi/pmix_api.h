// The part of libpmix that muster uses, opened at run time. No other code depends on pmix.h.
//
// Source: PMIx Standard 4 (pmix.h), as in OpenPMIx 3 to 5 (libpmix.so.2).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/pmix_place.h"

namespace muster::rendezvous {

// A connection to the PMIx server of this node. Every call BLOCKS, some without a limit: call them so that
// they can be abandoned (comm/system/bounded_call.h). Threads: any, at the same time.
//
// Errors: kConfiguration if the server or the library does not support it; else kSystem.
class PmixApi {
 public:
  PmixApi() = default;
  PmixApi(const PmixApi&) = delete;
  PmixApi& operator=(const PmixApi&) = delete;
  virtual ~PmixApi() = default;

  // Connects. Each one that succeeds is ended by one Finalize.
  virtual Status Init() = 0;
  virtual void Finalize() = 0;

  // The names that the server keeps for MPI_Publish_name, visible to this launch only. A server without them
  // (Slurm's): false, or absent.
  virtual Result<bool> Publish(const std::string& name, const std::string& text) = 0;
  struct Found {
    bool supported = true;
    std::optional<std::string> text;
  };
  virtual Result<Found> LookUp(const std::string& name) = 0;
  virtual void Unpublish(const std::string& name) = 0;

  // A value of this process, and a value of rank 0 of this launch, fetched from its node's server. The fetch
  // waits for it for the given seconds; absent without a value.
  virtual Status Say(const std::string& name, const std::string& text) = 0;
  virtual Result<std::optional<std::string>> AskRankZero(const std::string& name, int seconds) = 0;

  // The server's data about this process and its launch.
  virtual Result<PmixPlace> GetPlace() = 0;
};

// Loads libpmix.so.2. BLOCKS as long as the file system does. Error: kConfiguration, with the attempts.
Result<std::shared_ptr<PmixApi>> LoadPmix();

// Queries the PMIx server of this process for the facts that the environment lacks: the size of its launch,
// and its place on the node. Connects, queries and disconnects. BLOCKS until the deadline at most; a call
// that hangs is abandoned on its own thread. Errors: kConfiguration without a library or a server, kDeadline.
Result<PmixPlace> AskPmixServer(Deadline deadline,
                                std::function<Result<std::shared_ptr<PmixApi>>()> load = LoadPmix);

}  // namespace muster::rendezvous
