// The job secret of `rendezvous.auth: secret`: 256 random bits that only the ranks of a job have. Written as
// 64 hexadecimal digits (`muster secret`, MUSTER_SECRET). A value; wiped when it is destroyed. No message
// shows it.
#pragma once

#include <string>
#include <string_view>

#include "comm/auth/crypto.h"
#include "comm/base/error.h"

namespace muster::auth {

class JobSecret {
 public:
  // Error: kInternal if there is no source of randomness.
  static Result<JobSecret> Generate();
  // Exactly 64 hexadecimal digits. `source` is the origin of the text, for the message: "MUSTER_SECRET".
  // Error: kConfiguration; describes the fault without any of the text.
  static Result<JobSecret> Parse(std::string_view text, std::string_view source);

  // The form that Parse reads; lower case. Secret.
  std::string Text() const;
  // The input to a handshake's keys: derived, so that the secret itself can serve other purposes.
  SecretKey Psk() const;

  friend bool operator==(const JobSecret& a, const JobSecret& b) {
    return EqualInConstantTime(a.key_.view(), b.key_.view());
  }

 private:
  JobSecret() = default;
  SecretKey key_;
};

}  // namespace muster::auth
