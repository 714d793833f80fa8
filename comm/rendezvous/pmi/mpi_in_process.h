// Whether MPI is at work in this very process: it then has the launcher's services in use, and ends them
// itself.
#pragma once

namespace muster::rendezvous {

// Between MPI_Init and MPI_Finalize, of whichever MPI this process has loaded. Does not block.
bool MpiIsRunning();

}  // namespace muster::rendezvous
