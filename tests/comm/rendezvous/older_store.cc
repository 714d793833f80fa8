#include "tests/comm/rendezvous/older_store.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>

namespace muster::rendezvous {
namespace {

constexpr uint8_t kSet = 0;
constexpr uint8_t kGet = 2;
// As much as fits into an address space: there PyTorch's vector throws bad_alloc. A shorter text is waited
// for.
constexpr uint64_t kLongestText = uint64_t{1} << 56;

std::string AsText(uint64_t length) { return {reinterpret_cast<const char*>(&length), sizeof(length)}; }

void SendAll(int fd, const std::string& text) {
  EXPECT_EQ(send(fd, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
}

std::string OnWire(const std::string& text) { return AsText(text.size()) + text; }

}  // namespace

OlderStore::OlderStore()
    : listener_(*net::Listen(*net::SocketAddress::FromNumeric("127.0.0.1", 0))),
      address_(net::LocalAddress(listener_.get())),
      stop_(eventfd(0, EFD_CLOEXEC)),
      thread_([this] { Serve(); }) {}

OlderStore::~OlderStore() {
  eventfd_write(stop_.get(), 1);
  thread_.join();
}

void OlderStore::Serve() {
  while (true) {
    std::vector<pollfd> fds = {{stop_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    for (const UniqueFd& client : clients_) fds.push_back({client.get(), POLLIN, 0});
    poll(fds.data(), fds.size(), -1);
    if (fds[0].revents != 0) return;
    for (size_t i = clients_.size(); i-- > 0;) {
      if (fds[2 + i].revents != 0 && !Answer(clients_[i].get())) {
        clients_.erase(clients_.begin() + static_cast<ptrdiff_t>(i));
      }
    }
    if (fds[1].revents == 0) continue;
    if (auto client = net::Accept(listener_.get()); client && *client) clients_.push_back(*std::move(client));
  }
}

bool OlderStore::Answer(int client) {
  uint8_t operation = 0;
  std::string key;
  if (!Read(client, &operation, sizeof(operation))) return false;
  if (operation != kSet && operation != kGet) {
    ++turned_away_;
    return false;
  }
  if (!ReadText(client, key)) return false;
  if (operation == kSet) return ReadText(client, contents_[key]);
  SendAll(client, OnWire(contents_[key]));
  return true;
}

bool OlderStore::Read(int client, void* data, size_t size) const {
  for (size_t got = 0; got < size;) {
    std::array<pollfd, 2> fds = {pollfd{stop_.get(), POLLIN, 0}, pollfd{client, POLLIN, 0}};
    poll(fds.data(), fds.size(), -1);
    if (fds[0].revents != 0) return false;
    const ssize_t count = recv(client, static_cast<char*>(data) + got, size - got, 0);
    if (count <= 0) return false;
    got += static_cast<size_t>(count);
  }
  return true;
}

bool OlderStore::ReadText(int client, std::string& text) {
  uint64_t length = 0;
  if (!Read(client, &length, sizeof(length))) return false;
  if (length > kLongestText) {
    ++turned_away_;
    return false;
  }
  // PyTorch's store could perhaps hold it, and this one need not: it waits for the bytes in either case.
  text.clear();
  for (uint64_t i = 0; i < length; ++i) {
    char byte = 0;
    if (!Read(client, &byte, 1)) return false;
    text.push_back(byte);
  }
  return true;
}

OlderClient::OlderClient(const net::SocketAddress& store)
    : fd_(socket(store.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  EXPECT_EQ(connect(fd_.get(), store.get(), store.length()), 0);
}

void OlderClient::Set(const std::string& key, const std::string& value) {
  SendAll(fd_.get(), std::string(1, kSet) + OnWire(key) + OnWire(value));
}

std::string OlderClient::Get(const std::string& key) {
  SendAll(fd_.get(), std::string(1, kGet) + OnWire(key));
  uint64_t length = 0;
  EXPECT_EQ(recv(fd_.get(), &length, sizeof(length), MSG_WAITALL), static_cast<ssize_t>(sizeof(length)));
  std::string value(length, '\0');
  EXPECT_EQ(recv(fd_.get(), value.data(), length, MSG_WAITALL), static_cast<ssize_t>(length));
  return value;
}

}  // namespace muster::rendezvous
