#include "comm/auth/munge.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <memory>

#include "comm/auth/proof.h"

namespace muster::auth {
namespace {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

// A context is for one call: munge_decode leaves it in the state of the credential's maker.
class Context {
 public:
  Context(const MungeApi& api, const std::string& socket) : api_(api), ctx_(api.ctx_create()) {
    usable_ = ctx_ != nullptr && Set(MUNGE_OPT_SOCKET, socket.c_str());
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context() {
    if (ctx_ != nullptr) api_.ctx_destroy(ctx_);
  }

  munge_ctx_t get() const { return ctx_; }
  bool usable() const { return usable_; }
  template <typename T>
  bool Set(munge_opt_t option, T value) {
    return api_.ctx_set(ctx_, option, value) == EMUNGE_SUCCESS;
  }
  template <typename T>
  std::optional<T> Get(munge_opt_t option) const {
    T value{};
    if (api_.ctx_get(ctx_, option, &value) != EMUNGE_SUCCESS) return std::nullopt;
    return value;
  }
  // The context has more details than the code (the path, the errno).
  std::string ErrorText(munge_err_t error) const {
    const char* text = ctx_ == nullptr ? nullptr : api_.ctx_strerror(ctx_);
    if (text == nullptr) text = api_.strerror(error);
    return text == nullptr ? "unknown error" : text;
  }

 private:
  const MungeApi& api_;
  munge_ctx_t ctx_;
  bool usable_ = false;
};

tl::unexpected<Error> Fails(std::string message, std::string hint) {
  return Fail(Error{Code::kAuthentication, std::move(message), std::move(hint)});
}

tl::unexpected<Error> CannotSetUp() { return Fails("libmunge cannot make a context: out of memory", ""); }

tl::unexpected<Error> DoesNotAnswer(const std::string& socket, const std::string& text) {
  return Fails(fmt::format("munged does not answer at {}: {}", socket, text),
               "start munged on this node, or set rendezvous.auth: secret on every rank");
}

// The time by which this node's clock is ahead of the maker's, as text.
std::string ClockDifference(const Context& context) {
  const auto made = context.Get<time_t>(MUNGE_OPT_ENCODE_TIME);
  const auto read = context.Get<time_t>(MUNGE_OPT_DECODE_TIME);
  if (!made || !read || *made == 0 || *read == 0) return "the clocks of the two nodes differ";
  const auto ahead = static_cast<long long>(*read) - static_cast<long long>(*made);
  return fmt::format("the clock of this node is {} s {} the peer's", ahead < 0 ? -ahead : ahead,
                     ahead < 0 ? "behind" : "ahead of");
}

tl::unexpected<Error> DecodeFailure(const Context& context, munge_err_t error, const std::string& socket) {
  switch (error) {
    case EMUNGE_SOCKET:
    case EMUNGE_TIMEOUT:
      return DoesNotAnswer(socket, context.ErrorText(error));
    case EMUNGE_CRED_EXPIRED:
      return Fails(fmt::format("its munge credential has expired: {}", ClockDifference(context)),
                   kSetTheClocks);
    case EMUNGE_CRED_REWOUND:
      return Fails(fmt::format("its munge credential is from the future: {}", ClockDifference(context)),
                   kSetTheClocks);
    case EMUNGE_CRED_REPLAYED:
      return Fails("its munge credential has been used before on this node", "");
    case EMUNGE_CRED_UNAUTHORIZED:
      return Fails("its munge credential is for another user to read",
                   "start all ranks as one user; in a container, without mapping it to another uid");
    case EMUNGE_CRED_INVALID:
      return Fails("its munge credential is forged or from a node with another munge key",
                   "munge.key must be the same on every node: compare md5sum /etc/munge/munge.key");
    default:
      return Fails(fmt::format("munged rejects its credential: {}", context.ErrorText(error)), "");
  }
}

template <typename Function>
bool Find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

bool MungeSocketPresent(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode);
}

Result<MungeApi> LoadMunge(const char* library) {
  constexpr const char* kHint =
      "install libmunge2 on this node, or set rendezvous.auth: secret on every rank";
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* text = dlerror();
    return Fails(fmt::format("cannot load {}: {}", library, text == nullptr ? "unknown error" : text), kHint);
  }
  MungeApi api;
  const bool found = Find(handle, "munge_encode", api.encode) && Find(handle, "munge_decode", api.decode) &&
                     Find(handle, "munge_strerror", api.strerror) &&
                     Find(handle, "munge_ctx_create", api.ctx_create) &&
                     Find(handle, "munge_ctx_destroy", api.ctx_destroy) &&
                     Find(handle, "munge_ctx_strerror", api.ctx_strerror) &&
                     Find(handle, "munge_ctx_get", api.ctx_get) && Find(handle, "munge_ctx_set", api.ctx_set);
  if (!found) return Fails(fmt::format("{} lacks functions of libmunge", library), kHint);
  return api;
}

Result<Bytes> Munge::Encode(ByteView payload, uid_t only_for) const {
  Context context(api_, socket_);
  if (!context.usable() || !context.Set(MUNGE_OPT_TTL, kMungeTtlSeconds) ||
      !context.Set(MUNGE_OPT_UID_RESTRICTION, only_for)) {
    return CannotSetUp();
  }
  char* text = nullptr;
  const munge_err_t error =
      api_.encode(&text, context.get(), payload.data(), static_cast<int>(payload.size()));
  const std::unique_ptr<char, Free> owned(text);
  if (error == EMUNGE_SOCKET || error == EMUNGE_TIMEOUT)
    return DoesNotAnswer(socket_, context.ErrorText(error));
  if (error != EMUNGE_SUCCESS || text == nullptr) {
    return Fails(fmt::format("munged cannot make a credential: {}", context.ErrorText(error)), "");
  }
  const ByteView bytes = AsBytes(text);
  return Bytes(bytes.begin(), bytes.end());
}

Result<MungeCredential> Munge::Decode(ByteView credential) const {
  // The library reads a C string; bytes behind a NUL would not be part of its check.
  if (credential.empty() || std::find(credential.begin(), credential.end(), 0) != credential.end()) {
    return Fails("its munge credential is malformed", "");
  }
  Context context(api_, socket_);
  if (!context.usable()) return CannotSetUp();
  const std::string text(AsText(credential));
  void* buffer = nullptr;
  int length = 0;
  MungeCredential decoded;
  const munge_err_t error =
      api_.decode(text.c_str(), context.get(), &buffer, &length, &decoded.uid, &decoded.gid);
  const std::unique_ptr<void, Free> owned(buffer);
  if (error != EMUNGE_SUCCESS) return DecodeFailure(context, error, socket_);
  if (buffer != nullptr && length > 0) {
    const auto* bytes = static_cast<const uint8_t*>(buffer);
    decoded.payload.assign(bytes, bytes + length);
  }
  const auto only_for = context.Get<uid_t>(MUNGE_OPT_UID_RESTRICTION);
  if (only_for && *only_for != static_cast<uid_t>(MUNGE_UID_ANY)) decoded.only_for = only_for;
  return decoded;
}

}  // namespace muster::auth
