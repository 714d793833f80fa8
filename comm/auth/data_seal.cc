#include "comm/auth/data_seal.h"

#include <array>
#include <string_view>

namespace muster::auth {
namespace {

SecretKey SenderKey(const SecretKey& connection, Cipher cipher, MemberSide sender) {
  const std::string_view name = sender == MemberSide::kConnector ? "from the connector" : "from the acceptor";
  const std::array<uint8_t, 1> kind = {static_cast<uint8_t>(cipher)};
  return DeriveKey(connection.view(), {AsBytes("muster data record"), kind, AsBytes(name)});
}

}  // namespace

DataKeys DeriveDataKeys(const MemberContext& context, MemberSide own, Cipher cipher,
                        const Challenge& connector, const Challenge& acceptor) {
  const SecretKey connection = DeriveKey(
      context.group_key,
      {AsBytes("muster data keys"), AsBytes(context.group_id), EncodeRanks(context), connector, acceptor});
  const MemberSide other = own == MemberSide::kConnector ? MemberSide::kAcceptor : MemberSide::kConnector;
  return {cipher, SenderKey(connection, cipher, own), SenderKey(connection, cipher, other)};
}

CipherSet OwnCiphers() {
  const auto always = static_cast<CipherSet>(Cipher::kChaCha20Poly1305);
  return HasAesInstructions() ? always | static_cast<CipherSet>(Cipher::kAes256Gcm) : always;
}

std::optional<Cipher> ChooseCipher(CipherSet one, CipherSet other) {
  for (const Cipher cipher : {Cipher::kAes256Gcm, Cipher::kChaCha20Poly1305}) {
    if ((one & other & static_cast<CipherSet>(cipher)) != 0) return cipher;
  }
  return std::nullopt;
}

RecordKeys::RecordKeys(Cipher cipher, const SecretKey& key, uint64_t records_per_key)
    : cipher_(cipher), records_per_key_(records_per_key), key_(key) {
  prepared_.emplace(cipher_, key_);
}

RecordKeys::RecordKeys(const RecordKeys& other)
    : RecordKeys(other.cipher_, other.key_, other.records_per_key_) {
  number_ = other.number_;
}

void RecordKeys::Next() {
  if (++number_ % records_per_key_ != 0) return;
  key_ = DeriveKey(key_.view(), {AsBytes("muster next record key")});
  prepared_.emplace(cipher_, key_);
}

void RecordSealer::Seal(ByteView plaintext, uint8_t* record) {
  keys_.key().Seal(keys_.number(), plaintext, record);
  keys_.Next();
}

bool RecordOpener::Open(ByteView record, uint8_t* plaintext) {
  if (broken_ || !keys_.key().Open(keys_.number(), record, plaintext)) {
    broken_ = true;
    return false;
  }
  keys_.Next();
  return true;
}

}  // namespace muster::auth
