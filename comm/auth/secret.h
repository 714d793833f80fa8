// The job secret of `rendezvous.auth: secret`: 256 random bits that all ranks of a job know and nobody else.
// Written as 64 hexadecimal digits (`muster secret`, MUSTER_SECRET). A value; wiped when it goes. No message
// ever shows it.
#pragma once

#include <string>
#include <string_view>

#include "comm/auth/crypto.h"
#include "comm/base/error.h"

namespace muster::auth {

class JobSecret {
 public:
  // Error: kInternal, where there is no randomness to be had.
  static Result<JobSecret> Generate();
  // Exactly 64 hexadecimal digits. `source` is where the text comes from, for the message: "MUSTER_SECRET".
  // Error: kConfiguration; says what is wrong without any of the text.
  static Result<JobSecret> Parse(std::string_view text, std::string_view source);

  // What Parse reads; lower case. Secret.
  std::string Text() const;
  // What goes into a handshake's keys: derived, so that the secret itself can serve other ends.
  SecretKey Psk() const;

  friend bool operator==(const JobSecret& a, const JobSecret& b) {
    return EqualInConstantTime(a.key_.view(), b.key_.view());
  }

 private:
  JobSecret() = default;
  SecretKey key_;
};

}  // namespace muster::auth
