#include "comm/rendezvous/tcp_store/descriptor_limit.h"

#include "comm/net/descriptor_room.h"

namespace muster::tcp_store {

Result<uint64_t> RaiseDescriptorLimit() { return muster::RaiseDescriptorLimit(); }

}  // namespace muster::tcp_store
