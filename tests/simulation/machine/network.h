// Links between nodes, and the sockets on them and inside nodes: latency, bandwidth, cut links, retransmission as TCP
// does it, buffers, resets.
//
// Simpler than a kernel: a segment is what one call sent; congestion windows and acknowledgements take no part, apart from
// the buffers' room; an acknowledgement that is lost delays nothing.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <utility>

#include "tests/simulation/machine/file.h"

namespace muster::simulation {

struct InternetAddress {
  uint32_t host = 0;  // host order; 0: any
  uint16_t port = 0;
};

class Network {
 public:
  explicit Network(World& world) : world_(world) {}

  // Packets from one node to the other are lost. Counted: as often as it is cut it must be mended.
  void Cut(int from, int to) { ++cuts_[{from, to}]; }
  void Mend(int from, int to) {
    if (--cuts_[{from, to}] == 0) cuts_.erase({from, to});
  }
  bool Passes(const Node& from, const Node& to) const;
  Duration Latency(const Node& from, const Node& to);
  Node* Find(uint32_t address) const;

 private:
  World& world_;
  std::map<std::pair<int, int>, int> cuts_;
};

class Socket : public File {
 public:
  enum class Role { kFresh, kListener, kConnecting, kConnected, kDatagram };

  Socket(World& w, Process& creator, int socket_family, int socket_type);

  uint32_t Ready() override;
  int Bind(InternetAddress address);  // errno, or 0; as all below
  int Listen();
  int Connect(InternetAddress address);
  int ConnectUnix(Socket* listener);
  Socket* Accept();  // null: none waits
  // As recv(2) and send(2).
  ssize_t Receive(uint8_t* bytes, size_t most, bool peek);
  ssize_t Send(const uint8_t* bytes, size_t count);
  int ShutDownWriting();
  int TakeError() { return std::exchange(error_, 0); }

  Node& node;
  const int family;
  const int type;
  Role role = Role::kFresh;
  InternetAddress local;
  InternetAddress remote;
  std::string path;  // of a Unix socket
  Process* owner;
  pid_t peer_pid = 0;
  uid_t peer_uid = 0;

 private:
  struct Segment {
    std::string bytes;
    bool fin = false;
    Time ready{};
  };
  void OnClose() override;
  void CloseListener();
  void TrySyn(int attempt);
  void OnRefused();
  void OnEstablished(Socket* listener);
  void JoinPeer(Socket* other);
  void Transmit(Segment segment);
  void TransmitEnd();
  void Pump();
  void PumpAt(Time when);
  // The first of `from`.
  void Arrive(std::list<Segment>& from);
  // `count` bytes, which are there.
  void Read(uint8_t* bytes, size_t count, bool peek);
  void SendReset();
  void BreakWith(int error);
  size_t Room() const;
  bool Fits(const Socket& listener) const;

  bool passes_to_peer() const;
  // Its node has lost power since: no packet of it is left.
  bool is_lost() const { return start_ != node.starts; }

  bool unread() const { return input_bytes_ > 0; }
  void CloseUnaccepted();

  std::list<Socket*> backlog_;
  bool unaccepted_ = false;  // its listener has closed
  // A connection. `peer_` stays when it has been closed.
  Socket* peer_ = nullptr;
  std::list<Segment> input_;
  size_t input_start_ = 0;  // of the first
  size_t input_bytes_ = 0;  // unread
  bool input_ended_ = false;
  int error_ = 0;  // reported once
  bool broken_ = false;
  bool output_ended_ = false;
  std::list<Segment> output_;  // on its way
  size_t output_bytes_ = 0;
  const int start_;  // of its node
  Time last_ready_{};
  bool pumping_ = false;
  Duration retry_{};
  Time retries_since_{};
};

}  // namespace muster::simulation
