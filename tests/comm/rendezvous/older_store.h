// A store as PyTorch had them before 2.2, for what they do with those who speak the dialect of today: no
// handshake, one thread, and each request is read to its end before another client is served.
//
// Of the protocol of PyTorch 1.13: u8 SET 0, key, value; GET 2, key; a text is u64 length | bytes. It hangs
// up on a client that requests something else, or sends a text longer than it can hold.
#pragma once

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "comm/base/unique_fd.h"
#include "comm/net/socket.h"

namespace muster::rendezvous {

class OlderStore {
 public:
  OlderStore();
  ~OlderStore();
  OlderStore(const OlderStore&) = delete;
  OlderStore& operator=(const OlderStore&) = delete;

  const net::SocketAddress& address() const { return address_; }
  // How often it hung up on one who was still there.
  int turned_away() const { return turned_away_; }

 private:
  void Serve();
  // One request. False: this client is to be hung up on.
  bool Answer(int client);
  // BLOCKS for all of it; false if the client is gone, or the store is to end.
  bool Read(int client, void* data, size_t size) const;
  bool ReadText(int client, std::string& text);

  UniqueFd listener_;
  net::SocketAddress address_;
  UniqueFd stop_;  // readable when the store is to end
  std::vector<UniqueFd> clients_;
  std::map<std::string, std::string> contents_;
  std::atomic<int> turned_away_ = 0;
  std::thread thread_;
};

// A client of the same age, whose calls BLOCK as its own do.
class OlderClient {
 public:
  explicit OlderClient(const net::SocketAddress& store);

  void Set(const std::string& key, const std::string& value);
  std::string Get(const std::string& key);  // one that is there

 private:
  UniqueFd fd_;
};

}  // namespace muster::rendezvous
