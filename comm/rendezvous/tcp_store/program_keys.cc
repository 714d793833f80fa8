#include "comm/rendezvous/tcp_store/program_keys.h"

#include "comm/rendezvous/tcp_store/fields.h"

namespace muster::tcp_store {

size_t ProgramKeys::keys() const {
  size_t keys = lasting_.keys();
  for (const auto& [round, store] : of_rounds_) keys += store->keys();
  return keys;
}

std::shared_ptr<Store> ProgramKeys::Enter(int rank) {
  const Round round = rounds_.Enter(rank);
  std::erase_if(of_rounds_, [this](const auto& entry) { return entry.first + 1 < rounds_.latest(); });
  auto& store = of_rounds_[round];
  if (!store) store = std::make_shared<Store>(limits_, memory_);
  return store;
}

const Store* ProgramKeys::Find(int rank) const {
  const auto found = of_rounds_.find(rounds_.Of(rank));
  return found == of_rounds_.end() ? nullptr : found->second.get();
}

ClientView::ClientView(ProgramKeys& keys, ClientId id, int rank) : keys_(keys), id_(id), rank_(rank) {
  ++keys_.clients_;
}

ClientView::~ClientView() {
  --keys_.clients_;
  keys_.lasting_.Forget(id_);
  if (!round_) return;
  round_->Forget(id_);
  keys_.rounds_.Leave(rank_);
}

Status ClientView::Apply(const Request& request, Bytes& answer, std::vector<ClientId>& woken) {
  if (!keys_.has_rounds_) return keys_.lasting_.Apply(id_, request, answer, woken);
  // All keys of a request are of one kind: PyTorch puts the same prefix before them.
  if (!request.texts.empty() && IsProcessGroupKey(request.texts.front())) {
    if (!round_) round_ = keys_.Enter(rank_);
    return round_->Apply(id_, request, answer, woken);
  }
  const Store* const round = round_ ? round_.get() : keys_.Find(rank_);
  if (request.operation == Operation::kNumKeys && round != nullptr) {
    PutInteger<int64_t>(static_cast<int64_t>(keys_.lasting_.keys() + round->keys()), answer);
    return {};
  }
  if (request.operation == Operation::kListKeys && round != nullptr)
    return Store::ListKeys({&keys_.lasting_, round}, answer);
  if (request.operation == Operation::kCancelWait && round_) round_->Forget(id_);
  return keys_.lasting_.Apply(id_, request, answer, woken);
}

}  // namespace muster::tcp_store
