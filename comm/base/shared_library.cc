#include "comm/base/shared_library.h"

#include <dlfcn.h>
#include <link.h>

#include <filesystem>

namespace muster {
namespace {

std::string PathOf(void* handle, const std::string& fallback) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr || map->l_name == nullptr) return fallback;
  return *map->l_name == '\0' ? fallback : map->l_name;
}

bool Exists(const std::string& file) {
  std::error_code error;
  return std::filesystem::exists(file, error);
}

}  // namespace

Result<SharedLibrary> SharedLibrary::Open(const std::vector<std::string>& names,
                                          const std::vector<std::string>& files) {
  std::string tried;
  const auto open = [&](const std::string& name, int flags) -> void* {
    void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | flags);
    if (handle == nullptr && flags == 0) {
      const char* why = dlerror();
      tried += (tried.empty() ? "" : "; ") + std::string(why == nullptr ? name : why);
    }
    return handle;
  };
  for (const std::string& name : names) {
    if (void* handle = open(name, RTLD_NOLOAD)) return SharedLibrary(handle, PathOf(handle, name));
  }
  for (const std::string& file : files) {
    if (!Exists(file)) continue;
    if (void* handle = open(file, 0)) return SharedLibrary(handle, PathOf(handle, file));
  }
  for (const std::string& name : names) {
    if (void* handle = open(name, 0)) return SharedLibrary(handle, PathOf(handle, name));
  }
  return Fail(Code::kConfiguration, "cannot load {}: {}", names.front(), tried);
}

void* SharedLibrary::Find(const char* symbol) const { return dlsym(handle_, symbol); }

Status SharedLibrary::Missing(std::string_view symbol) const {
  return Fail(Code::kConfiguration, "{} has no {}: it is too old, or something else", path_, symbol);
}

}  // namespace muster
