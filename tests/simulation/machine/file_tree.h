// The file system of a node: directories, names of sockets, small files. In memory; permissions as far as private
// directories depend on them.
#pragma once

#include <sys/stat.h>

#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "tests/simulation/machine/file.h"

namespace muster::simulation {

struct Inode {
  mode_t mode = 0;  // with its type
  uid_t uid = 0;
  uint64_t number = 0;
  std::map<std::string, std::shared_ptr<Inode>> entries{};  // of a directory
  std::string content{};                                    // of a file
  Socket* socket = nullptr;                                 // bound there
  const File* locked_by = nullptr;
  nlink_t links = 0;
  bool removed = false;
  Time changed{};
  size_t synced = kAllSynced;  // bytes of the content that outlast the power of the writer's node

  static constexpr size_t kAllSynced = std::numeric_limits<size_t>::max();

  bool is_directory() const { return S_ISDIR(mode); }
};

// With /dev/shm, /tmp and /proc.
std::shared_ptr<Inode> MakeRoot();
std::shared_ptr<Inode> MakeSharedDirectory();

class OpenFile : public File {
 public:
  OpenFile(World& w, std::shared_ptr<Inode> of) : File(w), inode(std::move(of)) {}
  uint32_t Ready() override { return EPOLLIN | EPOLLOUT; }

  const std::shared_ptr<Inode> inode;
  size_t offset = 0;  // of a directory: the entries that were read

 private:
  void OnClose() override {
    if (inode->locked_by == this) inode->locked_by = nullptr;
  }
};

// A path on its way: the directory that has the last name, and what is there. error: as errno.
struct Found {
  std::shared_ptr<Inode> directory{};
  std::string name{};
  std::shared_ptr<Inode> inode{};  // null: there is no such name
  int error = 0;
};
Found Find(const Process& process, std::string_view path, const std::shared_ptr<Inode>& from = nullptr);
bool MayWrite(const Process& process, const Inode& inode);
// A sticky directory keeps each user's entries.
bool MayRemove(const Process& process, const Inode& directory, const Inode& entry);
std::shared_ptr<Inode> Add(const Process& process, const Found& place, mode_t mode);
void Remove(const Found& found);
void Describe(const Inode& inode, struct stat* status);

}  // namespace muster::simulation
