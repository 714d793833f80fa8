#include "tests/comm/net/name_service.h"

#include <dlfcn.h>
#include <netdb.h>

#include <map>
#include <mutex>

namespace muster::net {
namespace {

std::mutex mutex;

std::map<std::string, std::string>& Names() {
  static std::map<std::string, std::string> names;
  return names;
}

}  // namespace

void SetName(const std::string& name, const std::string& address) {
  const std::lock_guard lock(mutex);
  Names()[name] = address;
}

}  // namespace muster::net

extern "C" int getaddrinfo(const char* name, const char* service, const addrinfo* hints, addrinfo** found) {
  static const auto real = reinterpret_cast<decltype(&getaddrinfo)>(dlsym(RTLD_NEXT, "getaddrinfo"));
  const std::lock_guard lock(muster::net::mutex);
  const auto& names = muster::net::Names();
  const auto known = name == nullptr ? names.end() : names.find(name);
  if (known == names.end()) return real(name, service, hints, found);
  const bool numeric_only = hints != nullptr && (hints->ai_flags & AI_NUMERICHOST) != 0;
  if (numeric_only) return EAI_NONAME;
  if (known->second.empty()) return EAI_AGAIN;
  return real(known->second.c_str(), service, hints, found);
}
