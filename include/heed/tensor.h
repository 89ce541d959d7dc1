// Arrays of up to eight dimensions: their element types, Shape, the non-owning View and ConstView,
// Tensor, which owns its memory, and arrays in files of NumPy.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace heed {

/// 1 sign, 8 exponent, 7 mantissa bits. Conversion from float rounds to nearest even; NaN stays
/// NaN.
struct bf16 {
  std::uint16_t bits = 0;

  bf16() = default;
  explicit constexpr bf16(float value) : bits(from_float(value)) {}
  explicit constexpr operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }

 private:
  static constexpr std::uint16_t from_float(float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    if ((word & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<std::uint16_t>((word >> 16) | 0x40U);
    return static_cast<std::uint16_t>((word + 0x7FFFU + ((word >> 16) & 1U)) >> 16);
  }
};

/// 1 sign, 5 exponent, 10 mantissa bits. Conversion from float rounds to nearest even; denormals
/// are kept.
struct f16 {
  std::uint16_t bits = 0;

  f16() = default;
  explicit constexpr f16(float value) : bits(from_float(value)) {}
  explicit constexpr operator float() const { return to_float(bits); }

 private:
  static constexpr std::uint16_t from_float(float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>((word >> 16) & 0x8000U);
    const std::uint32_t magnitude = word & 0x7FFFFFFFU;
    if (magnitude > 0x7F800000U) return sign | 0x7E00U;   // NaN
    if (magnitude >= 0x477FF000U) return sign | 0x7C00U;  // rounds beyond 65504
    if (magnitude < 0x33000001U) return sign;             // at most 2^-25: rounds to 0
    const int exponent = static_cast<int>(magnitude >> 23) - 127;
    const std::uint32_t mantissa = (magnitude & 0x7FFFFFU) | 0x800000U;
    const int shift = exponent < -14 ? -1 - exponent : 13;  // denormals lose more bits
    const std::uint32_t kept = mantissa >> shift;
    const std::uint32_t rest = mantissa & ((1U << shift) - 1U);
    const std::uint32_t half = 1U << (shift - 1);
    const std::uint32_t rounded =
        kept + (rest > half || (rest == half && (kept & 1U) != 0) ? 1 : 0);
    const std::uint32_t base = exponent < -14 ? 0
                                              : static_cast<std::uint32_t>(exponent + 14)
                                                    << 10;  // + the hidden bit in `rounded`
    return static_cast<std::uint16_t>(sign | (base + rounded));
  }
  static constexpr float to_float(std::uint16_t half) {
    const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
    const std::uint32_t exponent = (half >> 10) & 0x1FU;
    const std::uint32_t mantissa = half & 0x3FFU;
    if (exponent == 0) {
      const float value = static_cast<float>(mantissa) * 0x1p-24F;
      return sign != 0 ? -value : value;
    }
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000U | (mantissa << 13));
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  }
};

enum class DType : std::uint8_t { kF64, kF32, kF16, kBF16, kI64, kI32, kI8, kU8, kBool };

struct DTypeInfo {
  DType dtype;
  std::string_view name;              // the name users write: --dtype f32
  std::string_view safetensors_name;  // the name in the file format
  std::size_t size_bytes;
};

inline constexpr DTypeInfo kDTypes[] = {
    {DType::kF64, "f64", "F64", 8},    {DType::kF32, "f32", "F32", 4},
    {DType::kF16, "f16", "F16", 2},    {DType::kBF16, "bf16", "BF16", 2},
    {DType::kI64, "i64", "I64", 8},    {DType::kI32, "i32", "I32", 4},
    {DType::kI8, "i8", "I8", 1},       {DType::kU8, "u8", "U8", 1},
    {DType::kBool, "bool", "BOOL", 1},
};

constexpr const DTypeInfo& info(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)]; }
constexpr std::size_t size_bytes(DType dtype) { return info(dtype).size_bytes; }
constexpr std::string_view name(DType dtype) { return info(dtype).name; }
constexpr bool is_floating(DType dtype) { return dtype <= DType::kBF16; }

/// The DType of a C++ element type.
template <typename T>
struct DTypeOf;
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::kF64;
};
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::kF32;
};
template <>
struct DTypeOf<f16> {
  static constexpr DType value = DType::kF16;
};
template <>
struct DTypeOf<bf16> {
  static constexpr DType value = DType::kBF16;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType value = DType::kI64;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::kI32;
};
template <>
struct DTypeOf<std::int8_t> {
  static constexpr DType value = DType::kI8;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType value = DType::kU8;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::kBool;
};

/// Elements of a row of i8 that share one scale (Keys in attention.h).
inline constexpr std::int64_t kElementsPerScale = 32;

inline constexpr int kMaxRank = 8;

/// A short list of numbers: a shape or the strides of a view (in elements).
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims)
      : Shape(std::span<const std::int64_t>(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const std::int64_t> dims);  // at most kMaxRank

  int rank() const { return rank_; }
  std::int64_t operator[](int axis) const { return dims_[static_cast<std::size_t>(axis)]; }
  std::int64_t& operator[](int axis) { return dims_[static_cast<std::size_t>(axis)]; }
  const std::int64_t* begin() const { return dims_.data(); }
  const std::int64_t* end() const { return dims_.data() + rank_; }
  std::int64_t element_count() const;  // 1 for rank 0
  bool operator==(const Shape& other) const;

 private:
  std::array<std::int64_t, kMaxRank> dims_ = {};
  int rank_ = 0;
};

/// `[2, 8, 17, 64]`, as in error messages.
std::string to_string(const Shape& shape);

/// Row-major strides in elements.
Shape contiguous_strides(const Shape& shape);

class Tensor;

/// A read-only view. The empty view (default) means "not given". Strides count elements and may be
/// 0 (broadcast). Copying a view copies no data.
class ConstView {
 public:
  ConstView() = default;
  ConstView(const void* data, DType dtype, const Shape& shape);  // row-major
  ConstView(const void* data, DType dtype, const Shape& shape, const Shape& strides);
  // A temporary tensor may be passed as `const ConstView&`; storing a view of it would dangle.
  template <typename T>
    requires std::same_as<std::remove_const_t<T>, Tensor>
  ConstView(T&&) = delete;
  template <typename T>
    requires std::same_as<std::remove_const_t<T>, Tensor>
  ConstView& operator=(T&&) = delete;

  /// False only for the default view: a view with an extent of 0 is given.
  bool given() const { return given_; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  const Shape& strides() const { return strides_; }
  int rank() const { return shape_.rank(); }
  std::int64_t dim(int axis) const;     // negative axes count from the end
  std::int64_t stride(int axis) const;  // in elements; negative axes count from the end
  std::int64_t element_count() const { return shape_.element_count(); }
  bool is_contiguous() const;
  bool is_aligned() const;  // to its type; data in a file may be unaligned
  const void* raw() const { return data_; }

  /// The first element as T, which must be the view's type.
  template <typename T>
  const T* data() const {
    check_type(DTypeOf<T>::value);
    return static_cast<const T*>(data_);
  }

  ConstView slice(int axis, std::int64_t begin, std::int64_t end) const;
  ConstView select(int axis, std::int64_t index) const;  // removes the axis
  ConstView permute(std::initializer_list<int> order) const;
  ConstView reshape(const Shape& shape) const;       // contiguous views only
  ConstView broadcast_to(const Shape& shape) const;  // right-aligned, by stride 0

 protected:
  void check_type(DType wanted) const;

  const void* data_ = nullptr;
  DType dtype_ = DType::kF32;
  bool given_ = false;
  Shape shape_ = {0};
  Shape strides_ = {1};
};

/// A view that may be written through.
class View : public ConstView {
 public:
  View() = default;
  View(void* data, DType dtype, const Shape& shape) : ConstView(data, dtype, shape) {}
  View(void* data, DType dtype, const Shape& shape, const Shape& strides)
      : ConstView(data, dtype, shape, strides) {}

  void* raw() const { return const_cast<void*>(data_); }
  template <typename T>
  T* data() const {
    return const_cast<T*>(ConstView::data<T>());
  }

  View slice(int axis, std::int64_t begin, std::int64_t end) const;
  View select(int axis, std::int64_t index) const;
  View permute(std::initializer_list<int> order) const;
  View reshape(const Shape& shape) const;

 private:
  explicit View(const ConstView& view) : ConstView(view) {}
};

/// Owning, row-major, 64-byte aligned. Movable, but never copied implicitly: `clone` copies,
/// `share` makes a second owner.
/// Converts to View and ConstView. A temporary converts only to an argument `const ConstView&`,
/// because a stored view would outlive its memory.
class Tensor {
 public:
  Tensor() = default;  // "no tensor": shape [0], not given()
  Tensor(Tensor&& other) noexcept
      : memory_(std::move(other.memory_)), view_(std::exchange(other.view_, {})) {}
  Tensor& operator=(Tensor&& other) noexcept {
    memory_ = std::move(other.memory_);
    view_ = std::exchange(other.view_, {});
    return *this;
  }

  static Tensor empty(const Shape& shape, DType dtype = DType::kF32);  // not initialised
  static Tensor zeros(const Shape& shape, DType dtype = DType::kF32);
  static Tensor copy_of(const ConstView& view);  // any strides in, row-major out

  /// Row-major memory kept alive by `owner` (a mapped file), without a copy; it must not be written
  /// to.
  static Tensor over(std::shared_ptr<const void> owner, const ConstView& view);

  /// Like `copy_of`, in another floating type: rounds to nearest even.
  static Tensor converted(const ConstView& view, DType dtype);

  Tensor clone() const { return copy_of(view()); }

  /// Another owner of the same memory, which must not be written to afterwards. A pass keeps
  /// activations this way without copying.
  Tensor share() const {
    Tensor other;
    other.memory_ = memory_;
    other.view_ = view_;
    return other;
  }

  const Shape& shape() const { return view_.shape(); }
  DType dtype() const { return view_.dtype(); }
  int rank() const { return view_.rank(); }
  std::int64_t dim(int axis) const { return view_.dim(axis); }
  std::int64_t element_count() const { return view_.element_count(); }
  bool given() const { return view_.given(); }

  View view() { return view_; }
  ConstView view() const { return view_; }
  operator View() & { return view_; }                   // NOLINT(google-explicit-constructor)
  operator const ConstView&() & { return view_; }       // NOLINT(google-explicit-constructor)
  operator const ConstView&() const& { return view_; }  // NOLINT(google-explicit-constructor)

  template <typename T>
  T* data() {
    return view_.data<T>();
  }
  template <typename T>
  const T* data() const {
    return view_.data<T>();
  }

  /// The same memory with another shape of the same element count.
  Tensor reshaped(const Shape& shape) &&;

 private:
  std::shared_ptr<std::byte> memory_;
  View view_;
};

/// Reads NumPy's .npy: an array of f64, f32, f16, i64, i32, i8, u8 or bool. Fortran order is
/// converted to C order. Errors (kCorrupt, kNotFound, kIo) name the file, the byte offset if it
/// helps, and what was expected. Reading and writing files needs heed::heed.
Tensor read_npy(const std::filesystem::path& path);

/// Writes row-major, whatever the view's strides; bf16, which NumPy lacks, is written as f32. The
/// file appears complete or not at all.
void write_npy(const std::filesystem::path& path, const ConstView& array);

}  // namespace heed
