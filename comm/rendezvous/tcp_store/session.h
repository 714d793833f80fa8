// One client's connection to the store: reads requests, has them applied, sends the answers.
//
// Runs on one EventLoop; owns its descriptor. Nothing blocks. A client that does not take its answers is not
// read from until it does, and one turn of any client is short: no client delays another.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "comm/base/bytes.h"
#include "comm/base/error.h"
#include "comm/base/unique_fd.h"
#include "comm/net/event_loop.h"
#include "comm/net/socket.h"
#include "comm/rendezvous/tcp_store/budget.h"
#include "comm/rendezvous/tcp_store/program_keys.h"
#include "comm/rendezvous/tcp_store/request.h"

namespace muster::tcp_store {

// The state that the sessions of one server share; outlives them.
struct SessionHost {
  net::EventLoop& loop;
  Limits limits;
  Budget& buffers;  // bytes received from or queued for clients, beyond a small free amount
  // The client has sent VALIDATE: it may be started now or later.
  std::function<void(ClientId)> greeted;
  // Owed kStopWaiting; never the caller itself.
  std::function<void(ClientId)> wake;
  // Called once and last: the session may go.
  std::function<void(ClientId, const Error& reason)> closed;
  // Room that is used within one turn only.
  Bytes received;
  Bytes answers = {};
  std::vector<ClientId> woken = {};
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(SessionHost& host, ClientId id, UniqueFd fd, net::SocketAddress peer);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  // Reads the greeting, and no byte more; then only watches whether the client closes it. Error: kSystem; it
  // is not closed then.
  Status AwaitGreeting();
  // Until it is greeted(): reads what has come of the greeting.
  void ReadGreeting();
  // Serves the client, which is of this program and rank. `keys` must outlive the session, or until it is
  // closed.
  void Start(ProgramKeys& keys, int rank);
  // The client's wait is over.
  void Wake();
  // An empty message if the client ended it between two requests.
  void Close(const Error& reason);

  bool open() const { return static_cast<bool>(fd_); }
  bool greeted() const { return validated_; }
  const net::SocketAddress& peer() const { return peer_; }

 private:
  void OnEvents(uint32_t events);
  void OnEventsBeforeStart();
  Error DescribeStranger();
  void Read();
  void Resume();
  void TakeTurn(ByteView input, bool is_kept);
  Result<size_t> ApplyAll(ByteView input);
  Status ApplyOne();
  void SendAnswers();
  void Flush();
  size_t SendSome(ByteView bytes);
  Status CountBuffers();
  void UpdateInterest();

  SessionHost& host_;
  std::optional<ClientView> view_;  // from Start until it is closed
  const ClientId id_;
  UniqueFd fd_;
  const net::SocketAddress peer_;
  RequestDecoder decoder_;
  Bytes input_;  // from the first byte of a request on
  Bytes output_;
  size_t output_sent_ = 0;
  int send_error_ = 0;  // answers are lost: nothing more is sent
  uint64_t counted_ = 0;
  uint32_t interest_ = 0;
  bool validated_ = false;
  bool yielded_ = false;  // whole requests may be left in input_
};

}  // namespace muster::tcp_store
