// A Board as a bulletin: the notice lies there under one name, its blanks written as commas.
#pragma once

#include <memory>
#include <string>

#include "comm/rendezvous/discovery/bulletin.h"
#include "comm/rendezvous/pmi/board.h"

namespace muster {

class BoardBulletin : public Bulletin {
 public:
  BoardBulletin(std::shared_ptr<Board> board, std::string name);

  // Of a notice that is too long for a launcher (a node with a dozen addresses) the last addresses are left
  // out.
  Status Publish(std::string_view notice, Deadline deadline) override;
  Result<std::optional<std::string>> LookUp(Deadline deadline) override;
  std::string Describe() const override;

 private:
  std::shared_ptr<Board> board_;
  std::string name_;
};

}  // namespace muster
