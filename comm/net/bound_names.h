// The names of sockets that this process has bound in private directories. exit() removes them, and the
// directories that become empty, if the process has not left its group before. The user's next start removes
// the names of a process that was killed or called _exit.
//
// The removal at exit allocates no memory and does not block. A forked child begins with no names: its exit
// does not remove those of its parent.
//
// Threads: any.
#pragma once

#include <string>

namespace muster::net {

// `path`: of the name; `directory`: its directory.
void RememberBoundName(std::string path, std::string directory);

// False if exit() has removed the name: it may be another process's now.
bool ForgetBoundName(const std::string& path);

// A name of this process is in use, and needs no probe. The last one in a directory tidies it.
bool IsBoundName(const std::string& path);
bool HasBoundNameIn(const std::string& directory);

}  // namespace muster::net
