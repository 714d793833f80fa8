#include "tests/comm/net/name_service.h"

#include <dlfcn.h>
#include <netdb.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

namespace muster::net {
namespace {

std::mutex mutex;

struct Name {
  std::vector<std::string> addresses;
  int answers = 0;
};

std::map<std::string, Name>& Names() {
  static std::map<std::string, Name> names;
  return names;
}

}  // namespace

void SetName(const std::string& name, const std::string& address) { SetName(name, std::vector{address}); }

void SetName(const std::string& name, std::vector<std::string> addresses) {
  const std::lock_guard lock(mutex);
  Names()[name] = {std::move(addresses)};
}

int AnswersFor(const std::string& name) {
  const std::lock_guard lock(mutex);
  return Names()[name].answers;
}

}  // namespace muster::net

extern "C" int getaddrinfo(const char* name, const char* service, const addrinfo* hints, addrinfo** found) {
  static const auto real = reinterpret_cast<decltype(&getaddrinfo)>(dlsym(RTLD_NEXT, "getaddrinfo"));
  const std::lock_guard lock(muster::net::mutex);
  auto& names = muster::net::Names();
  const auto known = name == nullptr ? names.end() : names.find(name);
  if (known == names.end()) return real(name, service, hints, found);
  const bool numeric_only = hints != nullptr && (hints->ai_flags & AI_NUMERICHOST) != 0;
  if (numeric_only) return EAI_NONAME;
  auto& [addresses, answers] = known->second;
  const auto turn = std::min(static_cast<size_t>(answers++), addresses.size() - 1);
  if (addresses[turn].empty()) return EAI_AGAIN;
  return real(addresses[turn].c_str(), service, hints, found);
}
