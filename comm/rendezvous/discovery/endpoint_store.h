// A place that all processes of a launch can reach (the store of torchrun, a shared directory, a launcher's
// PMI server). The root publishes its address there; leaders look it up and dial it.
//
// A user with write access there could send a leader elsewhere; one with read access reads the secret. It is
// as private as that place: comm/auth/README.md explains the consequences.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/auth/secret.h"
#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/net/socket.h"

namespace muster::rendezvous {

// The root's entry in an endpoint store. A value.
struct RootAddress {
  std::vector<net::SocketAddress> addresses;  // its listening addresses, with ports
  // Drawn for this group alone; absent if not needed (munge, MUSTER_SECRET, no authentication).
  std::optional<auth::JobSecret> secret;

  friend bool operator==(const RootAddress&, const RootAddress&) = default;
};

// One line of printable text: "muster-notice 1 SECRET|- ADDRESS:PORT...".
std::string Encode(const RootAddress& root_address);
// Strict. Error: kDisagreement; never shows any of the secret.
Result<RootAddress> DecodeRootAddress(std::string_view text);

// One launch's entry in an endpoint store. Owned by one thread at a time. Every call BLOCKS until its
// deadline, or longer if it must resolve a name: call it on a BlockingWorker.
//
// Errors: kConfiguration if a retry is useless; after any other error a retry may succeed.
class EndpointStore {
 public:
  EndpointStore() = default;
  EndpointStore(const EndpointStore&) = delete;
  EndpointStore& operator=(const EndpointStore&) = delete;
  virtual ~EndpointStore() = default;

  // Replaces what is there: the last one counts.
  virtual Status Publish(std::string_view root_address, Deadline deadline) = 0;
  // The present content, possibly of a root that has ended; absent if there is none.
  virtual Result<std::optional<std::string>> LookUp(Deadline deadline) = 0;
  // Removes `root_address` if it is still there and would otherwise stay. Not all stores need it.
  virtual bool WantsWithdrawal() const { return false; }
  virtual void Withdraw(std::string_view /*root_address*/) {}
  // For messages: "the store of torchrun at gpu01:29500".
  virtual std::string Describe() const = 0;
};

}  // namespace muster::rendezvous
