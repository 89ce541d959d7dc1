#include "base/formats/protobuf.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "base/wording.h"

namespace heed {
namespace {

static_assert(std::endian::native == std::endian::little, "heed's files are little-endian");

std::string_view name(WireType wire) {
  switch (wire) {
    case WireType::kVarint:
      return "an integer";
    case WireType::kFixed64:
      return "eight bytes";
    case WireType::kBytes:
      return "a length and bytes";
    case WireType::kFixed32:
      return "four bytes";
  }
  return "";
}

void check_wire(const ProtobufField& field, WireType wanted, const ProtobufSource& source) {
  if (field.wire != wanted)
    source.fail_at(field.place, fmt::format("field {} is {}, expected {}", field.number,
                                            name(field.wire), name(wanted)));
}

}  // namespace

void ProtobufSource::fail_at(const std::byte* place, std::string_view what) const {
  fail({.code = ErrorCode::kCorrupt,
        .file = path,
        .place = fmt::format("byte {}", place - bytes.data()),
        .found = what});
}

std::int64_t ProtobufField::as_int(const ProtobufSource& source) const {
  check_wire(*this, WireType::kVarint, source);
  return static_cast<std::int64_t>(value);
}

float ProtobufField::as_float(const ProtobufSource& source) const {
  check_wire(*this, WireType::kFixed32, source);
  return std::bit_cast<float>(static_cast<std::uint32_t>(value));
}

std::span<const std::byte> ProtobufField::as_bytes(const ProtobufSource& source) const {
  check_wire(*this, WireType::kBytes, source);
  return bytes;
}

std::string ProtobufField::as_text(const ProtobufSource& source) const {
  const auto text = as_bytes(source);
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

std::uint64_t ProtobufReader::varint() {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 10; ++i) {
    if (i == rest_.size()) source_.fail_at(rest_.data() + i, "the message ends inside an integer");
    const auto byte = std::to_integer<std::uint64_t>(rest_[i]);
    if (i == 9 && byte > 1) break;  // bits past the 64th
    value |= (byte & 0x7F) << (7 * i);
    if (byte < 0x80) {
      rest_ = rest_.subspan(i + 1);
      return value;
    }
  }
  source_.fail_at(rest_.data(), "an integer of more than 64 bits");
}

std::span<const std::byte> ProtobufReader::take(std::uint64_t bytes) {
  if (bytes > rest_.size())
    source_.fail_at(rest_.data(), fmt::format("{} are expected, the message has {} left",
                                              number_of(bytes, "byte"), rest_.size()));
  const auto taken = rest_.first(static_cast<std::size_t>(bytes));
  rest_ = rest_.subspan(taken.size());
  return taken;
}

std::uint64_t ProtobufReader::fixed(std::size_t bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, take(bytes).data(), bytes);
  return value;
}

bool ProtobufReader::next(ProtobufField& field) {
  if (rest_.empty()) return false;
  const std::byte* place = rest_.data();
  const std::uint64_t tag = varint();
  const std::uint64_t number = tag >> 3;
  if (number == 0 || number > 0x1FFFFFFF)
    source_.fail_at(place, fmt::format("{} is not a field number", number));
  field = {.number = static_cast<std::uint32_t>(number),
           .wire = static_cast<WireType>(tag & 7),
           .place = place};
  switch (field.wire) {
    case WireType::kVarint:
      field.value = varint();
      return true;
    case WireType::kFixed64:
      field.value = fixed(8);
      return true;
    case WireType::kBytes:
      field.bytes = take(varint());
      return true;
    case WireType::kFixed32:
      field.value = fixed(4);
      return true;
  }
  source_.fail_at(place, fmt::format("{} is not a wire type", tag & 7));
}

}  // namespace heed
