#include "comm/rendezvous/pmi/mpi_in_process.h"

#include <dlfcn.h>

#include <array>

namespace muster::rendezvous {
namespace {

using Asks = int (*)(int* answer);

bool Says(void* library, const char* question) {
  const auto ask = reinterpret_cast<Asks>(dlsym(library, question));
  int answer = 0;
  return ask != nullptr && ask(&answer) == 0 && answer != 0;
}

bool RunsIn(void* library) { return Says(library, "MPI_Initialized") && !Says(library, "MPI_Finalized"); }

}  // namespace

bool MpiIsRunning() {
  if (RunsIn(RTLD_DEFAULT)) return true;
  // What Python has loaded (mpi4py) is not seen from here by symbol alone.
  for (const char* name : std::array{"libmpich.so.12", "libmpi.so.12", "libmpi.so.40"}) {
    void* library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    const bool runs = RunsIn(library);
    dlclose(library);
    if (runs) return true;
  }
  return false;
}

}  // namespace muster::rendezvous
