#include "comm/rendezvous/join/bulletin_choice.h"

#include "comm/rendezvous/discovery/board_bulletin.h"
#include "comm/rendezvous/discovery/file_bulletin.h"
#include "comm/rendezvous/discovery/torch_store_bulletin.h"
#include "comm/rendezvous/link/names.h"
#include "comm/rendezvous/pmi/pmi_board.h"
#include "comm/rendezvous/pmi/pmix_board.h"

namespace muster {

std::shared_ptr<Board> OpenBoard(const Meeting& meeting) {
  if (meeting.find_root != FindRoot::kBulletin) return nullptr;
  if (meeting.pmi) return std::make_shared<PmiBoard>(*meeting.pmi);
  if (meeting.pmix) return std::make_shared<PmixBoard>();
  return nullptr;
}

std::unique_ptr<Bulletin> OpenBulletin(const JoinRequest& request) {
  const Meeting& meeting = request.meeting;
  if (request.board) return std::make_unique<BoardBulletin>(request.board, BulletinTopic(meeting.key));
  if (meeting.directory) {
    return std::make_unique<FileBulletin>(*meeting.directory, BulletinFile(meeting.key));
  }
  return std::make_unique<TorchStoreBulletin>(meeting.torch_store.value_or(Endpoint{}),
                                              BulletinTopic(meeting.key));
}

}  // namespace muster
