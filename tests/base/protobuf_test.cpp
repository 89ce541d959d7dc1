#include "base/formats/protobuf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/philox.h"
#include "support/expect_error.h"
#include "support/protobuf_writer.h"

namespace heed {
namespace {

using test::ProtobufWriter;

ProtobufSource source_of(const std::string& text) {
  return {.bytes = std::as_bytes(std::span(text)), .path = "a.pb"};
}

std::vector<ProtobufField> fields_of(const ProtobufSource& source) {
  std::vector<ProtobufField> fields;
  ProtobufReader reader(source.bytes, source);
  for (ProtobufField field; reader.next(field);) fields.push_back(field);
  return fields;
}

void expect_corrupt(const std::string& text, const std::string& message) {
  EXPECT_HEED_ERROR(fields_of(source_of(text)), ErrorCode::kCorrupt, message);
}

TEST(Protobuf, ReadsEveryWireType) {
  const std::string text = ProtobufWriter()
                               .varint(1, 300)
                               .varint(2, static_cast<std::uint64_t>(-1))
                               .bytes(3, "abc")
                               .number(4, 1.5F)
                               .number(2000, 2.5)
                               .text();
  const ProtobufSource source = source_of(text);
  const std::vector<ProtobufField> fields = fields_of(source);
  ASSERT_EQ(fields.size(), 5U);
  EXPECT_EQ(fields[0].as_int(source), 300);
  EXPECT_EQ(fields[1].as_int(source), -1);
  EXPECT_EQ(fields[2].as_text(source), "abc");
  EXPECT_EQ(fields[3].as_float(source), 1.5F);
  EXPECT_EQ(fields[4].number, 2000U);
  EXPECT_EQ(fields[4].wire, WireType::kFixed64);
}

TEST(Protobuf, RepeatedIntegersStandAloneOrPacked) {
  const std::string packed = ProtobufWriter().raw_varint(7).raw_varint(1000).text();
  const std::string text = ProtobufWriter().varint(1, 5).bytes(1, packed).text();
  const ProtobufSource source = source_of(text);
  std::vector<std::int64_t> values;
  for (const ProtobufField& field : fields_of(source))
    for_each_varint(field, source, [&](std::int64_t value) { values.push_back(value); });
  EXPECT_THAT(values, testing::ElementsAre(5, 7, 1000));
}

TEST(Protobuf, SaysWhereAFileIsBroken) {
  expect_corrupt(
      "\x0A\x05"
      "ab",
      "a.pb: byte 2: 5 bytes are expected, the message has 2 left");
  expect_corrupt("\x08\x80", "a.pb: byte 2: the message ends inside an integer");
  expect_corrupt("\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02",
                 "a.pb: byte 1: an integer of more than 64 bits");
  expect_corrupt(
      "\x0D"
      "abc",
      "a.pb: byte 1: 4 bytes are expected, the message has 3 left");
  expect_corrupt("\x0B", "a.pb: byte 0: 3 is not a wire type");
  expect_corrupt(std::string("\x00\x00", 2), "a.pb: byte 0: 0 is not a field number");
  expect_corrupt("\x12\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01",
                 "a.pb: byte 11: 18446744073709551615 bytes are expected, the message has 0 left");
}

TEST(Protobuf, AWrongWireTypeIsAnError) {
  const std::string text = ProtobufWriter().varint(1, 5).text();
  const ProtobufSource source = source_of(text);
  EXPECT_HEED_ERROR(fields_of(source)[0].as_text(source), ErrorCode::kCorrupt,
                    "a.pb: byte 0: field 1 is an integer, expected a length and bytes");
}

TEST(Protobuf, ReadsNothingOutsideOfRandomBytes) {
  Random random(1);
  for (int round = 0; round < 3000; ++round) {
    std::string text(random.below(24), '\0');
    for (char& byte : text) byte = static_cast<char>(random.below(random.below(2) == 0 ? 256 : 24));
    const std::vector<char> exactly(text.begin(), text.end());  // so that asan sees its end
    const ProtobufSource source = {.bytes = std::as_bytes(std::span(exactly)), .path = "a.pb"};
    try {
      for (const ProtobufField& field : fields_of(source)) {
        EXPECT_LE(field.bytes.size(), text.size());
        for_each_varint(field, source, [](std::int64_t) {});
      }
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCorrupt);
    }
  }
}

}  // namespace
}  // namespace heed
