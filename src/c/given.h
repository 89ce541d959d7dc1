// The caller's arguments, checked and converted to heed's types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "heed/c.h"
#include "heed/error.h"
#include "heed/tensor.h"

namespace heed::c {

/// Throws unless `size`, written by the caller, describes a struct that this library can read: at
/// least `least` bytes, with zeros past `most`.
void check_size(std::string_view op, std::string_view argument, const void* bytes, std::size_t size,
                std::size_t least, std::size_t most);

/// Throws if `pointer` is null.
template <typename Pointer>
void require_pointer(std::string_view op, std::string_view argument, Pointer* pointer) {
  if (pointer == nullptr) fail(op, argument, "a null pointer", {});
}

/// The size of a struct's first version, up to its last field then: no caller has a smaller one.
/// Later fields come after it.
template <typename Struct>
inline constexpr std::size_t kFirstSize = 0;
template <>
inline constexpr std::size_t kFirstSize<heed_attention_args> =
    offsetof(heed_attention_args, kernel) + sizeof(heed_attention_args::kernel);
template <>
inline constexpr std::size_t kFirstSize<heed_attended> =
    offsetof(heed_attended, out_low) + sizeof(heed_attended::out_low);
template <>
inline constexpr std::size_t kFirstSize<heed_gradients> =
    offsetof(heed_gradients, dscale) + sizeof(heed_gradients::dscale);
template <>
inline constexpr std::size_t kFirstSize<heed_observation> =
    offsetof(heed_observation, second) + sizeof(heed_observation::second);

/// A copy of the caller's struct; fields missing in the caller's heed.h are 0.
template <typename Struct>
Struct given_struct(std::string_view op, std::string_view argument, const Struct* given) {
  static_assert(kFirstSize<Struct> > 0);
  require_pointer(op, argument, given);
  check_size(op, argument, given, given->size, kFirstSize<Struct>, sizeof(Struct));
  Struct copy = {};
  const std::size_t bytes = given->size < sizeof(Struct) ? given->size : sizeof(Struct);
  std::memcpy(&copy, given, bytes);
  return copy;
}

View view_of(std::string_view op, std::string_view argument, const heed_view& given);
/// Null means "not given".
View view_of(std::string_view op, std::string_view argument, const heed_view* given);

std::vector<std::int64_t> integers_of(std::string_view op, std::string_view argument,
                                      const heed_integers& given);
std::vector<double> numbers_of(std::string_view op, std::string_view argument,
                               const heed_numbers& given);

/// Throws unless `value` is one of [0, count).
void check_enumerator(std::string_view op, std::string_view argument, std::int32_t value,
                      std::int32_t count, std::string_view expected);
void check_flag(std::string_view op, std::string_view argument, std::int32_t value);
/// Reserved fields must be 0.
void check_reserved(std::string_view op, std::string_view argument, std::int64_t value);

}  // namespace heed::c
