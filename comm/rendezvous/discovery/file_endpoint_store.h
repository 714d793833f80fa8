// A file in a directory that all nodes share, as an endpoint store: DIRECTORY/muster-UID/NAME.
//
// A new file takes the old one's place as a whole (rename), so nobody reads half of one, and what an earlier
// run has left, killed or not, is only what was there before. The directory muster-UID has mode 0700 and the
// files 0600; whatever belongs to somebody else, or others may read, is not believed.
//
// A client of NFS may go on saying for a minute that a file is not there. So every look begins at DIRECTORY
// itself, opened anew, which makes the client ask the server whether it has changed; and where that does not
// help (mounted with nocto), one look in eight leaves a trace in the directory: what a client has changed
// itself it must ask for again.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "comm/base/unique_fd.h"
#include "comm/rendezvous/discovery/endpoint_store.h"

namespace muster::rendezvous {

// BLOCKS for as long as the file system does, whatever the deadline.
class FileEndpointStore : public EndpointStore {
 public:
  // `directory`: an absolute path. `name`: what the file is called.
  FileEndpointStore(std::string directory, std::string name);

  // Also removes what has been lying there for more than a week.
  Status Publish(std::string_view root_address, Deadline deadline) override;
  Result<std::optional<std::string>> LookUp(Deadline deadline) override;
  bool WantsWithdrawal() const override { return true; }
  void Withdraw(std::string_view root_address) override;
  std::string Describe() const override;

 private:
  Result<UniqueFd> OpenBase() const;
  Result<UniqueFd> OpenOwn() const;
  Status CheckOwner(int own) const;
  Result<std::optional<std::string>> Read(int own) const;
  Status Write(int own, std::string_view content) const;
  std::string PathOf(std::string_view name) const;

  const std::string directory_;
  const std::string name_;
  const uid_t uid_;
  const std::string own_name_;  // "muster-1000"
  int absences_ = 0;            // in a row
};

// The content of the file: one line with the root's address, and one that shows that the file is whole. A
// file system that several machines share may show half a file. A longer one is not muster's.
inline constexpr size_t kLongestRootAddressFile = size_t{16} * 1024;

// `root_address`: one line, without its end.
std::string EncodeRootAddressFile(std::string_view root_address);

// The root's address; absent where this is not a whole file. DecodeRootAddress checks it.
std::optional<std::string> DecodeRootAddressFile(std::string_view content);

}  // namespace muster::rendezvous
