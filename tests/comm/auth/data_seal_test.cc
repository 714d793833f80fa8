#include "comm/auth/data_seal.h"

#include <gtest/gtest.h>

#include <numeric>

namespace muster::auth {
namespace {

SecretKey KeyOf(uint8_t number) { return DeriveKey({}, {ByteView(&number, 1)}); }

Bytes Text(size_t size) {
  Bytes text(size);
  std::iota(text.begin(), text.end(), uint8_t{0});
  return text;
}

Bytes Sealed(RecordSealer& sealer, ByteView plaintext) {
  Bytes record(plaintext.size() + kSealOverhead);
  sealer.Seal(plaintext, record.data());
  return record;
}

bool Opens(RecordOpener& opener, ByteView record, ByteView expected) {
  Bytes plaintext(record.size() - kSealOverhead);
  return opener.Open(record, plaintext.data()) && std::ranges::equal(plaintext, expected);
}

class DataSealTest : public testing::TestWithParam<Cipher> {
 protected:
  DataSealTest() {
    EXPECT_TRUE(CryptoReady());
    if (GetParam() == Cipher::kAes256Gcm && !HasAesInstructions()) skipped_ = true;
  }
  void SetUp() override {
    if (skipped_) GTEST_SKIP() << "this processor has no instructions for AES";
  }
  RecordSealer Sealer(uint64_t records_per_key = kRecordsPerKey) {
    return RecordSealer(GetParam(), KeyOf(7), records_per_key);
  }
  RecordOpener Opener(uint64_t records_per_key = kRecordsPerKey) {
    return RecordOpener(GetParam(), KeyOf(7), records_per_key);
  }
  bool skipped_ = false;
};

TEST_P(DataSealTest, OpensWhatWasSealedInOrder) {
  RecordSealer sealer = Sealer();
  RecordOpener opener = Opener();
  for (const size_t size : {0UL, 1UL, 44UL, 1000UL, 65536UL}) {
    const Bytes text = Text(size);
    const Bytes record = Sealed(sealer, text);
    EXPECT_TRUE(Opens(opener, record, text)) << size;
  }
}

TEST_P(DataSealTest, OpensInPlace) {
  RecordSealer sealer = Sealer();
  RecordOpener opener = Opener();
  const Bytes text = Text(1000);
  Bytes record = Sealed(sealer, text);
  EXPECT_TRUE(opener.Open(record, record.data()));
  record.resize(text.size());
  EXPECT_EQ(record, text);
}

TEST_P(DataSealTest, NoFlippedBitGoesUnnoticed) {
  const Bytes text = Text(44);
  RecordSealer sealer = Sealer();
  const Bytes record = Sealed(sealer, text);
  for (size_t bit = 0; bit < 8 * record.size(); ++bit) {
    Bytes changed = record;
    changed[bit / 8] = static_cast<uint8_t>(changed[bit / 8] ^ (1U << (bit % 8)));
    RecordOpener opener = Opener();
    EXPECT_FALSE(Opens(opener, changed, text)) << bit;
    EXPECT_FALSE(Opens(opener, record, text)) << "after one that does not open, none does";
  }
}

TEST_P(DataSealTest, NothingRepeatedLeftOutOrMovedOpens) {
  const Bytes text = Text(100);
  RecordSealer sealer = Sealer();
  const Bytes first = Sealed(sealer, text);
  const Bytes second = Sealed(sealer, text);
  EXPECT_NE(first, second) << "the same text is never sealed alike";
  {
    RecordOpener opener = Opener();
    EXPECT_FALSE(Opens(opener, second, text)) << "left out, or moved";
  }
  {
    RecordOpener opener = Opener();
    EXPECT_TRUE(Opens(opener, first, text));
    EXPECT_FALSE(Opens(opener, first, text)) << "repeated";
  }
  {
    RecordOpener opener = Opener();
    EXPECT_FALSE(Opens(opener, ByteView(first).first(first.size() - 1), ByteView(text).first(99)))
        << "cut short";
  }
}

TEST_P(DataSealTest, ACopyOfAnOpenerGoesOnByItself) {
  const Bytes text = Text(44);
  RecordSealer sealer = Sealer(4);
  RecordOpener opener = Opener(4);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(Opens(opener, Sealed(sealer, text), text)) << "past the first key";
  Bytes record = Sealed(sealer, text);
  RecordOpener copy = opener;
  EXPECT_TRUE(Opens(copy, record, text));
  EXPECT_FALSE(Opens(copy, record, text)) << "the copy is at the next one";
  EXPECT_TRUE(Opens(opener, record, text)) << "a copy that fails breaks nothing";
}

TEST_P(DataSealTest, KeysChangeAfterSoManyRecords) {
  const Bytes text = Text(10);
  RecordSealer sealer = Sealer(4);
  RecordSealer always = Sealer();
  RecordOpener opener = Opener(4);
  for (int i = 0; i < 13; ++i) {
    const Bytes record = Sealed(sealer, text);
    EXPECT_EQ(record == Sealed(always, text), i < 4) << i;
    EXPECT_TRUE(Opens(opener, record, text)) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Ciphers, DataSealTest,
                         testing::Values(Cipher::kChaCha20Poly1305, Cipher::kAes256Gcm),
                         [](const auto& cipher) {
                           return cipher.param == Cipher::kAes256Gcm ? "Aes256Gcm" : "ChaCha20Poly1305";
                         });

class DataKeysTest : public testing::Test {
 protected:
  DataKeysTest() {
    context_.group_key.fill(1);
    context_.group_id = "0011/0000000000000001/1/3/2";
    context_.connector_rank = 5;
    context_.acceptor_rank = 2;
    connector_.fill(3);
    acceptor_.fill(4);
  }
  DataKeys Of(MemberSide side, Cipher cipher = Cipher::kChaCha20Poly1305) {
    return DeriveDataKeys(context_, side, cipher, connector_, acceptor_);
  }
  static bool Same(const SecretKey& a, const SecretKey& b) { return EqualInConstantTime(a.view(), b.view()); }

  MemberContext context_;
  Challenge connector_{};
  Challenge acceptor_{};
};

TEST_F(DataKeysTest, FitBetweenTheTwoEnds) {
  const DataKeys connector = Of(MemberSide::kConnector);
  const DataKeys acceptor = Of(MemberSide::kAcceptor);
  EXPECT_TRUE(Same(connector.outgoing, acceptor.incoming));
  EXPECT_TRUE(Same(connector.incoming, acceptor.outgoing));
  EXPECT_FALSE(Same(connector.outgoing, connector.incoming)) << "what comes back does not open";
}

TEST_F(DataKeysTest, DependOnEverything) {
  const DataKeys first = Of(MemberSide::kConnector);
  const auto differs = [&](const char* what) {
    EXPECT_FALSE(Same(Of(MemberSide::kConnector).outgoing, first.outgoing)) << what;
  };
  EXPECT_FALSE(Same(Of(MemberSide::kConnector, Cipher::kAes256Gcm).outgoing, first.outgoing));
  const MemberContext context = context_;
  context_.group_key[31] = 2;
  differs("group key");
  context_ = context;
  context_.group_id += "0";
  differs("connection");
  context_ = context;
  context_.connector_rank = 6;
  differs("connector");
  context_ = context;
  context_.acceptor_rank = 3;
  differs("acceptor");
  context_ = context;
  connector_[0] = 0;
  differs("connector's nonce");
  connector_[0] = 3;
  acceptor_[0] = 0;
  differs("acceptor's nonce");
}

TEST(ChooseCipher, TakesAesWhereBothHaveIt) {
  EXPECT_EQ(ChooseCipher(3, 3), Cipher::kAes256Gcm);
  EXPECT_EQ(ChooseCipher(3, 1), Cipher::kChaCha20Poly1305);
  EXPECT_EQ(ChooseCipher(1, 3), Cipher::kChaCha20Poly1305);
  EXPECT_EQ(ChooseCipher(0, 3), std::nullopt);
  EXPECT_EQ(ChooseCipher(4, 4), std::nullopt) << "a cipher of a later version";
  ASSERT_TRUE(CryptoReady());
  EXPECT_EQ(OwnCiphers(), HasAesInstructions() ? 3 : 1);
}

}  // namespace
}  // namespace muster::auth
