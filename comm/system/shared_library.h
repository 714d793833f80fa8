// A library opened at run time: one binary then serves machines with and without it.
//
// Ownership: stays open until the process ends, as CUDA and NCCL need it (they start threads). Threads: any.
// Open blocks as long as the file system does; call it so that it can be abandoned.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "comm/base/error.h"

namespace muster {

class SharedLibrary {
 public:
  // The first that opens, in this order: one that this process has loaded already (PyTorch's), by each of
  // `names`; `files`; the loader's own search, by name; `last_resorts`. Error: kConfiguration, with all
  // attempts and their reasons.
  static Result<SharedLibrary> Open(const std::vector<std::string>& names,
                                    const std::vector<std::string>& files,
                                    const std::vector<std::string>& last_resorts = {});

  const std::string& path() const { return path_; }

  // Null if there is none.
  void* Find(const char* symbol) const;

  // Sets *function to a symbol that must be there. Error: kConfiguration, names library and symbol.
  template <typename Function>
  Status Need(const char* symbol, Function** function) const {
    *function = reinterpret_cast<Function*>(Find(symbol));
    return *function == nullptr ? Missing(symbol) : Status();
  }

 private:
  friend class Symbols;
  SharedLibrary(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  Status Missing(std::string_view symbol) const;

  void* handle_;
  std::string path_;
};

// The first member of a struct of functions: each names its symbol in its declaration.
//
//   struct Functions {
//     Symbols symbols;
//     decltype(cudaFree)* free = symbols.Need("cudaFree");
//   };
//   MUSTER_TRY(const Functions functions, FindFunctions<Functions>(library));
class Symbols {
 public:
  // Becomes the type of its member.
  struct Symbol {
    template <typename Function>
    operator Function*() const {  // NOLINT(google-explicit-constructor): see above
      return reinterpret_cast<Function*>(address);
    }
    void* address;
  };

  explicit Symbols(const SharedLibrary& library) : library_(library) {}

  Symbol Need(const char* symbol) {
    const Symbol found = Want(symbol);
    if (found.address == nullptr && found_) found_ = library_.Missing(symbol);
    return found;
  }
  // Null if the library does not have it.
  Symbol Want(const char* symbol) const { return {library_.Find(symbol)}; }
  // Error: the first one that is needed and missing, as SharedLibrary::Need.
  const Status& found() const { return found_; }

 private:
  SharedLibrary library_;
  Status found_;
};

template <typename Functions>
Result<Functions> FindFunctions(const SharedLibrary& library) {
  Functions functions{Symbols(library)};
  MUSTER_CHECK(functions.symbols.found());
  return functions;
}

}  // namespace muster
