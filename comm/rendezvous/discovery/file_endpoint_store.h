// A file in a directory that all nodes share, as an endpoint store: DIRECTORY/muster-UID/NAME.
//
// In a directory that every user may write, another user may have taken the name muster-UID. Then it is
// muster-UID-RANDOM, found by its owner. Several nodes may make one at the same moment, so all of them are read.
//
// A new file replaces the old one as a whole (rename). So no process reads half of one, and files of an
// earlier run do no harm. The directory muster-UID has mode 0700 and the files 0600. Files of another owner,
// or readable by other users, are ignored.
//
// An NFS client may report for a minute that a file does not exist. So every read reopens DIRECTORY itself,
// which makes the client revalidate it at the server. This does not help with the mount option nocto, so one
// read in eight changes the directory: a client must fetch again a directory that it has changed.
#pragma once

#include <sys/types.h>

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "comm/base/unique_fd.h"
#include "comm/rendezvous/discovery/endpoint_store.h"

namespace muster::rendezvous {

// BLOCKS as long as the file system does, even beyond the deadline.
class FileEndpointStore : public EndpointStore {
 public:
  // `directory`: an absolute path. `name`: the file name.
  FileEndpointStore(std::string directory, std::string name);

  // Also removes files that are more than a week old.
  Status Publish(std::string_view root_address, Deadline deadline) override;
  Result<std::optional<std::string>> LookUp(Deadline deadline) override;
  bool WantsWithdrawal() const override { return true; }
  void Withdraw(std::string_view root_address) override;
  std::string Describe() const override;

 private:
  // A directory of this user in DIRECTORY.
  struct Own {
    UniqueFd fd;
    std::string name;
  };
  struct Places {
    UniqueFd base;
    std::vector<Own> own;  // at least one; a new address belongs into the first
  };

  Result<UniqueFd> OpenBase() const;
  // `thorough`: those with a random name also if muster-UID is there: another user may have had it before.
  Result<Places> Open(bool thorough);
  Result<UniqueFd> OpenUsual(int base) const;
  bool IsRandomName(std::string_view name) const;
  std::vector<Own> FindRandom(int base);
  std::vector<Own> MakeRandom(int base);
  Status CheckOwner(int own, std::string_view name) const;
  Result<std::optional<std::string>> Read(const Own& own) const;
  Result<std::optional<std::string>> ReadAny(const Places& places) const;
  Status Write(const Own& own, std::string_view content) const;
  std::string PathOf(std::string_view own_name, std::string_view name) const;

  const std::string directory_;
  const std::string name_;
  const uid_t uid_;
  const std::string own_name_;       // "muster-1000"
  int absences_ = 0;                 // in a row
  std::set<std::string> of_others_;  // random names of other users
};

// The content of the file: one line with the root's address, and one that shows that the file is whole. A
// file system that several machines share may show half a file. A longer one is not muster's.
inline constexpr size_t kLongestRootAddressFile = size_t{16} * 1024;

// `root_address`: one line, without its end.
std::string EncodeRootAddressFile(std::string_view root_address);

// The root's address; absent if this is not a whole file. DecodeRootAddress checks it.
std::optional<std::string> DecodeRootAddressFile(std::string_view content);

}  // namespace muster::rendezvous
