#include "comm/system/shared_library.h"

#include <dlfcn.h>
#include <link.h>

#include <filesystem>
#include <optional>

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
                                          const std::vector<std::string>& files,
                                          const std::vector<std::string>& last_resorts) {
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
  const auto open_first = [&](const std::vector<std::string>& paths) -> std::optional<SharedLibrary> {
    for (const std::string& path : paths) {
      if (!Exists(path)) continue;
      if (void* handle = open(path, 0)) return SharedLibrary(handle, PathOf(handle, path));
    }
    return std::nullopt;
  };
  if (auto found = open_first(files)) return *std::move(found);
  for (const std::string& name : names) {
    if (void* handle = open(name, 0)) return SharedLibrary(handle, PathOf(handle, name));
  }
  if (auto found = open_first(last_resorts)) return *std::move(found);
  return Fail(Code::kConfiguration, "cannot load {}: {}", names.front(), tried);
}

void* SharedLibrary::Find(const char* symbol) const { return dlsym(handle_, symbol); }

Status SharedLibrary::Missing(std::string_view symbol) const {
  return Fail(Code::kConfiguration, "{} has no {}: it is too old, or something else", path_, symbol);
}

}  // namespace muster
