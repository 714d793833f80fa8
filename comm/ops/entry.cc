#include "comm/ops/entry.h"

#include <optional>

namespace muster {

Call CallOf(Operation operation, const ConstBuffer& elements, int root, ReduceOp reduce) {
  Call call;
  call.operation = operation;
  call.type = elements.type;
  call.count = elements.count;
  call.root = root;
  call.reduce = reduce;
  return call;
}

Result<std::unique_lock<std::mutex>> EnterAlone(Operation operation, std::mutex& collective) {
  std::unique_lock alone(collective, std::try_to_lock);
  if (alone) return alone;
  return Fail(Code::kUsage, "{}: another collective is running on this communicator", Name(operation));
}

tl::unexpected<Error> Closed(std::string_view call) {
  return Fail(Code::kUsage, "{}: this process has ended the communicator", call);
}

Status CheckUsable(FirstError& broken, const Group& group) {
  MUSTER_CHECK(broken.status());
  if (const std::optional<Error> failure = group.failure()) return Fail(broken.Set(*failure));
  return {};
}

}  // namespace muster
