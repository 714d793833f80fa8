// libpmix as muster uses it: what it needs of the library, opened at run time. Nothing else knows of pmix.h.
//
// Source: PMIx Standard 4 (pmix.h), as in OpenPMIx 3 to 5 (libpmix.so.2).
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/pmix_place.h"

namespace muster::rendezvous {

// A connection to the PMIx server of this node. Every call BLOCKS, some for as long as the server likes: call
// them where they can be abandoned (comm/system/abandonable_calls.h). Threads: any, at the same time.
//
// Errors: kConfiguration where the server or the library cannot do it at all; else kSystem.
class PmixApi {
 public:
  PmixApi() = default;
  PmixApi(const PmixApi&) = delete;
  PmixApi& operator=(const PmixApi&) = delete;
  virtual ~PmixApi() = default;

  // Connects. Each one that succeeds is ended by one Finalize.
  virtual Status Init() = 0;
  virtual void Finalize() = 0;

  // The names that the server keeps for MPI_Publish_name, seen by this launch alone. A server that has none
  // (Slurm's): false, or absent.
  virtual Result<bool> Publish(const std::string& name, const std::string& text) = 0;
  struct Found {
    bool supported = true;
    std::optional<std::string> text;
  };
  virtual Result<Found> LookUp(const std::string& name) = 0;
  virtual void Unpublish(const std::string& name) = 0;

  // What this process says of itself, and what rank 0 of this launch has said so, fetched from its node's
  // server: waits for it for so many seconds; absent where it has not been said.
  virtual Status Say(const std::string& name, const std::string& text) = 0;
  virtual Result<std::optional<std::string>> AskRankZero(const std::string& name, int seconds) = 0;

  // What the server says of this process and its launch.
  virtual Result<PmixPlace> GetPlace() = 0;
};

// Loads libpmix.so.2. BLOCKS for as long as the file system does. Error: kConfiguration, says what was tried.
Result<std::shared_ptr<PmixApi>> LoadPmix();

// Asks the PMIx server of this process for the facts that the environment lacks: the size of its launch, and
// its place on the node. Connects, asks and ends the connection. BLOCKS until the deadline at most; a call
// that does not come back is left behind on a thread of its own. Error: kConfiguration where there is no
// library or no server, kDeadline.
Result<PmixPlace> AskPmixServer(Deadline deadline,
                                std::function<Result<std::shared_ptr<PmixApi>>()> load = LoadPmix);

}  // namespace muster::rendezvous
