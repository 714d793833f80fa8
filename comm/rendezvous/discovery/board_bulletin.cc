#include "comm/rendezvous/discovery/board_bulletin.h"

#include <algorithm>

namespace muster {
namespace {

// Slurm reads a request of 1024 bytes at most, name and words of the protocol included.
constexpr size_t kLongestText = 900;

std::string Shortened(std::string text) {
  if (text.size() <= kLongestText) return text;
  text.resize(text.rfind(' ', kLongestText));
  return text;
}

}  // namespace

BoardBulletin::BoardBulletin(std::shared_ptr<Board> board, std::string name)
    : board_(std::move(board)), name_(std::move(name)) {}

std::string BoardBulletin::Describe() const { return board_->Describe(); }

Status BoardBulletin::Publish(std::string_view notice, Deadline deadline) {
  std::string text = Shortened(std::string(notice));
  std::ranges::replace(text, ' ', ',');
  return board_->Publish(name_, text, deadline);
}

Result<std::optional<std::string>> BoardBulletin::LookUp(Deadline deadline) {
  MUSTER_TRY(std::optional<std::string> text, board_->LookUp(name_, deadline));
  if (text) std::ranges::replace(*text, ',', ' ');
  return text;
}

}  // namespace muster
