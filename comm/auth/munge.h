// The part of libmunge that muster needs, opened at run time: a credential that proves the uid of its maker
// on this cluster. munge(7); the library is libmunge 0.5.x.
//
// All functions except MungeSocketPresent may block without a deadline (munged hangs, the library is on an
// NFS server that does not answer): run them on a BlockingWorker. A Munge is a value; its functions may be
// called from any thread.
#pragma once

#include <munge.h>
#include <sys/types.h>

#include <optional>
#include <string>

#include "comm/base/bytes.h"
#include "comm/base/error.h"

namespace muster::auth {

inline constexpr const char* kDefaultMungeSocket = "/run/munge/munge.socket.2";
inline constexpr const char* kMungeLibrary = "libmunge.so.2";

// Limit of the time between making and reading a credential, clock differences included. The security does
// not depend on it: a credential is good for one transcript only.
inline constexpr int kMungeTtlSeconds = 60;

// True if there is a socket at `path`; munged may still not answer.
bool MungeSocketPresent(const std::string& path);

// The library's functions; a test puts its own here.
struct MungeApi {
  decltype(&munge_encode) encode = nullptr;
  decltype(&munge_decode) decode = nullptr;
  decltype(&munge_strerror) strerror = nullptr;
  decltype(&munge_ctx_create) ctx_create = nullptr;
  decltype(&munge_ctx_destroy) ctx_destroy = nullptr;
  decltype(&munge_ctx_strerror) ctx_strerror = nullptr;
  decltype(&munge_ctx_get) ctx_get = nullptr;
  decltype(&munge_ctx_set) ctx_set = nullptr;
};

// Stays loaded until the process ends: an abandoned call may still be in it. Error: kAuthentication, names
// the library.
Result<MungeApi> LoadMunge(const char* library = kMungeLibrary);

struct MungeCredential {
  Bytes payload;
  uid_t uid = 0;  // its maker, according to munged
  gid_t gid = 0;
  std::optional<uid_t> only_for;  // the one uid that may decode it; absent: any
};

class Munge {
 public:
  Munge(MungeApi api, std::string socket) : api_(api), socket_(std::move(socket)) {}

  // A credential that only `only_for` can decode. Errors of both: kAuthentication, with the reason: munged
  // does not answer at the socket, or rejects the credential (clock, key, user, replay).
  Result<Bytes> Encode(ByteView payload, uid_t only_for) const;
  Result<MungeCredential> Decode(ByteView credential) const;

 private:
  MungeApi api_;
  std::string socket_;
};

}  // namespace muster::auth
