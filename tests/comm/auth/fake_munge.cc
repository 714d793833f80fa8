#include "tests/comm/auth/fake_munge.h"

#include <cstdarg>
#include <cstdlib>
#include <cstring>

namespace muster::auth {
namespace {

int context_storage;

munge_err_t Encode(char** credential, munge_ctx_t, const void* buffer, int length) {
  FakeMunge& fake = TheFakeMunge();
  *credential = nullptr;
  if (fake.error != EMUNGE_SUCCESS) return fake.error;
  fake.payload.assign(static_cast<const char*>(buffer), static_cast<size_t>(length));
  fake.uid = 1000;
  fake.gid = 100;
  *credential = strdup("MUNGE:fake:");
  return EMUNGE_SUCCESS;
}

// As the real one: the payload comes also with an expired, rewound or replayed credential.
munge_err_t Decode(const char* credential, munge_ctx_t, void** buffer, int* length, uid_t* uid, gid_t* gid) {
  FakeMunge& fake = TheFakeMunge();
  fake.decoded_text = credential;
  *length = static_cast<int>(fake.payload.size());
  *buffer = fake.payload.empty() ? nullptr : std::malloc(fake.payload.size() + 1);
  if (*buffer != nullptr) std::memcpy(*buffer, fake.payload.c_str(), fake.payload.size() + 1);
  *uid = fake.uid;
  *gid = fake.gid;
  return fake.error;
}

const char* ErrorText(munge_err_t) { return "text of the code"; }

munge_ctx_t CreateContext() {
  if (TheFakeMunge().out_of_memory) return nullptr;
  ++TheFakeMunge().live_contexts;
  return reinterpret_cast<munge_ctx_t>(&context_storage);
}

void DestroyContext(munge_ctx_t) { --TheFakeMunge().live_contexts; }

const char* ContextText(munge_ctx_t) {
  const FakeMunge& fake = TheFakeMunge();
  return fake.context_text.empty() ? nullptr : fake.context_text.c_str();
}

munge_err_t GetOption(munge_ctx_t, int option, ...) {
  const FakeMunge& fake = TheFakeMunge();
  va_list arguments;
  va_start(arguments, option);
  munge_err_t error = EMUNGE_SUCCESS;
  if (option == MUNGE_OPT_ENCODE_TIME) {
    *va_arg(arguments, time_t*) = fake.encode_time;
  } else if (option == MUNGE_OPT_DECODE_TIME) {
    *va_arg(arguments, time_t*) = fake.decode_time;
  } else if (option == MUNGE_OPT_UID_RESTRICTION) {
    *va_arg(arguments, uid_t*) = fake.only_for;
  } else {
    error = EMUNGE_BAD_ARG;
  }
  va_end(arguments);
  return error;
}

munge_err_t SetOption(munge_ctx_t, int option, ...) {
  FakeMunge& fake = TheFakeMunge();
  va_list arguments;
  va_start(arguments, option);
  munge_err_t error = EMUNGE_SUCCESS;
  if (option == MUNGE_OPT_SOCKET) {
    fake.socket = va_arg(arguments, const char*);
  } else if (option == MUNGE_OPT_TTL) {
    fake.ttl = va_arg(arguments, int);
  } else if (option == MUNGE_OPT_UID_RESTRICTION) {
    fake.only_for = va_arg(arguments, uid_t);
  } else {
    error = EMUNGE_BAD_ARG;
  }
  va_end(arguments);
  return error;
}

}  // namespace

FakeMunge& TheFakeMunge() {
  static FakeMunge fake;
  return fake;
}

MungeApi FakeMungeApi() {
  return {&Encode,         &Decode,      &ErrorText, &CreateContext,
          &DestroyContext, &ContextText, &GetOption, &SetOption};
}

}  // namespace muster::auth
