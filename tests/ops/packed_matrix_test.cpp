#include "ops/packed_matrix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "heed/threads.h"
#include "ops/kernels/block_panels.h"
#include "ops/kernels/matmul.h"
#include "ops/matmul.h"
#include "support/expect_error.h"
#include "support/random_tensor.h"
#include "tensor/block_type.h"

namespace heed {
namespace {

using kernels::cpu::fills_bytes;
using test::largest_difference;
using test::random_tensor;
using test::same_bits;

constexpr DType kTypes[] = {DType::kF32, DType::kF16, DType::kBF16};

struct Extents2 {
  std::int64_t inner, columns;
};
constexpr Extents2 kMatrices[] = {{1, 1}, {2, 33}, {37, 70}, {512, 96}, {1027, 65}, {768, 257}};

Tensor product(const ConstView& a, const PackedMatrix& b, const ConstView& bias = {},
               bool in_bulk = false) {
  Tensor out = Tensor::empty({a.dim(0), b.columns()});
  matmul({.a = a, .b = b, .bias = bias, .in_bulk = in_bulk}, out);
  return out;
}

Tensor in_f64(const ConstView& a, const ConstView& b, const ConstView& bias) {
  const Tensor wide_a = Tensor::converted(a, DType::kF64);
  const Tensor wide_b = Tensor::converted(b, DType::kF64);
  const Tensor wide_bias = Tensor::converted(bias, DType::kF64);
  return matmul({.a = wide_a, .b = wide_b, .bias = wide_bias});
}

TEST(PackedMatrix, ProductsAgreeWithF64ForEveryTypeLayoutAndNumberOfRows) {
  for (const DType dtype : kTypes)
    for (const auto& [inner, columns] : kMatrices) {
      const Tensor b = Tensor::converted(random_tensor({inner, columns}, 1), dtype);
      const Tensor bt = Tensor::converted(random_tensor({columns, inner}, 2), dtype);
      const Tensor bias = random_tensor({columns}, 3);
      for (const ConstView& plain : {b.view(), bt.view().permute({1, 0})}) {
        const PackedMatrix packed(plain);
        for (const std::int64_t rows :
             {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 19, 30, 47, 48, 65, 200}) {
          const Tensor a = random_tensor({rows, inner}, 4);
          EXPECT_LE(largest_difference(product(a, packed, bias), in_f64(a, plain, bias)),
                    4e-7 * static_cast<double>(4 + inner))
              << name(dtype) << ", " << rows << " x " << inner << " x " << columns;
        }
      }
    }
}

TEST(PackedMatrix, AnF32ProductHasTheBitsOfThePlainOne) {
  for (const auto& [inner, columns] : kMatrices) {
    const Tensor b = random_tensor({inner, columns}, 1);
    const Tensor bias = random_tensor({columns}, 2);
    const PackedMatrix packed(b);
    for (const std::int64_t rows : {1, 3, 8, 100}) {
      const Tensor a = random_tensor({rows, inner}, 3);
      EXPECT_TRUE(same_bits(product(a, packed, bias), matmul({.a = a, .b = b, .bias = bias})))
          << rows << " x " << inner << " x " << columns;
    }
  }
}

TEST(PackedMatrix, ARowDependsOnNeitherOtherRowsNorThreads) {
  for (const DType dtype : kTypes)
    for (const bool in_bulk : {false, true}) {
      const PackedMatrix b(Tensor::converted(random_tensor({1100, 390}, 1), dtype));
      const Tensor a = random_tensor({410, 1100}, 2);
      const Tensor bias = random_tensor({390}, 3);
      set_thread_count(1);
      const Tensor all = product(a, b, bias, in_bulk);
      for (const int threads : {1, 2, 3}) {
        set_thread_count(threads);
        for (const std::int64_t rows : {1, 2, 3, 4, 5, 7, 8, 9, 13, 14, 16, 22, 47, 48, 193, 410}) {
          const Tensor some = product(a.view().slice(0, 410 - rows, 410), b, bias, in_bulk);
          EXPECT_TRUE(same_bits(some, all.view().slice(0, 410 - rows, 410)))
              << name(dtype) << (in_bulk ? " in bulk, " : ", ") << rows << " rows, " << threads
              << " threads";
        }
      }
    }
  set_thread_count(0);
}

// x and the weights have 8 bits each; the sum is f32.
TEST(PackedMatrix, InBulkBf16IsTheProductOfRoundedNumbers) {
  if (!kernels::has_fast_pairs()) GTEST_SKIP() << "no fast pairs of bf16 on this CPU";
  for (const auto& [inner, columns] : kMatrices) {
    const Tensor b = Tensor::converted(random_tensor({inner, columns}, 1), DType::kBF16);
    const Tensor bias = random_tensor({columns}, 2);
    const PackedMatrix packed(b);
    for (const std::int64_t rows : {1, 2, 12, 65}) {
      const Tensor a = random_tensor({rows, inner}, 3);
      const Tensor rounded = Tensor::converted(a, DType::kBF16);
      EXPECT_LE(largest_difference(product(a, packed, bias, true), in_f64(rounded, b, bias)),
                4e-7 * static_cast<double>(4 + inner))
          << rows << " x " << inner << " x " << columns;
    }
  }
}

TEST(PackedMatrix, ANumberThatIsNotFiniteStaysInItsRowAndColumn) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const DType dtype : kTypes)
    for (const bool in_bulk : {false, true})
      for (const std::int64_t rows : {1, 3, 60}) {
        Tensor a = random_tensor({rows, 41}, 1);
        Tensor b = random_tensor({41, 70}, 2);
        a.data<float>()[(rows - 1) * 41 + 40] = std::nanf("");
        b.data<float>()[40 * 70 + 65] = kInfinity;
        const Tensor out = product(a, PackedMatrix(Tensor::converted(b, dtype)), {}, in_bulk);
        for (std::int64_t i = 0; i < rows; ++i)
          for (std::int64_t j = 0; j < 70; ++j) {
            const float value = out.data<float>()[i * 70 + j];
            EXPECT_EQ(std::isnan(value), i == rows - 1) << name(dtype) << i << ", " << j;
            EXPECT_EQ(std::isfinite(value), i != rows - 1 && j != 65) << name(dtype) << i << j;
          }
      }
}

TEST(PackedMatrix, WritesOnlyItsOwnPartOfWiderRows) {
  const PackedMatrix b(random_tensor({40, 50}, 1));
  const Tensor a = random_tensor({30, 90}, 2);
  Tensor out = Tensor::zeros({30, 60});
  matmul({.a = a.view().slice(1, 20, 60), .b = b}, out.view().slice(1, 5, 55));
  EXPECT_TRUE(same_bits(out.view().slice(1, 5, 55), product(a.view().slice(1, 20, 60), b)));
  EXPECT_EQ(largest_difference(out.view().slice(1, 0, 5), Tensor::zeros({30, 5})), 0);
  EXPECT_EQ(largest_difference(out.view().slice(1, 55, 60), Tensor::zeros({30, 5})), 0);
}

TEST(PackedMatrix, GivesItsColumnsBack) {
  for (const DType dtype : kTypes)
    for (const auto& [inner, columns] : kMatrices) {
      const Tensor b = Tensor::converted(random_tensor({inner, columns}, 1), dtype);
      const Tensor floats = Tensor::converted(b, DType::kF32);
      const PackedMatrix packed(b);
      Tensor column = Tensor::empty({inner});
      for (const std::int64_t j : {std::int64_t{0}, columns / 2, columns - 1}) {
        packed.copy_column(j, column.data<float>());
        EXPECT_EQ(largest_difference(column, floats.view().select(1, j)), 0) << name(dtype);
      }
    }
}

// Rows of blocks whose bytes are drawn, those again that hold large numbers.
Tensor random_blocks(const BlockType& type, std::int64_t rows, std::int64_t inner) {
  std::mt19937 random(7);
  Tensor bytes = Tensor::empty({rows, inner / type.elements * type.bytes}, DType::kU8);
  std::vector<float> numbers(static_cast<std::size_t>(type.elements));
  const auto is_large = [](float number) { return !(std::abs(number) < 1e6F); };
  for (std::int64_t at = 0; at < bytes.element_count(); at += type.bytes) {
    auto* const block = bytes.data<std::uint8_t>() + at;
    const auto size = static_cast<std::size_t>(type.bytes);
    do {
      std::generate_n(block, size, [&] { return static_cast<std::uint8_t>(random()); });
      read_blocks(type, std::as_bytes(std::span(block, size)), numbers);
    } while (std::ranges::any_of(numbers, is_large));
  }
  return bytes;
}

Tensor widened(const BlockType& type, const Tensor& blocks, std::int64_t inner) {
  Tensor numbers = Tensor::empty({blocks.dim(0), inner});
  read_blocks(type,
              std::as_bytes(std::span(blocks.data<std::uint8_t>(),
                                      static_cast<std::size_t>(blocks.element_count()))),
              {numbers.data<float>(), static_cast<std::size_t>(numbers.element_count())});
  return numbers;
}

TEST(PackedMatrix, OfBlocksProductsHaveTheBitsOfTheF32MatrixThatTheyMean) {
  for (const BlockType& type : block_types())
    for (const auto& [blocks, columns] : {Extents2{1, 1}, {3, 33}, {6, 70}, {5, 130}}) {
      const std::int64_t inner = blocks * type.elements;
      const Tensor rows = random_blocks(type, columns, inner);
      const Tensor numbers = widened(type, rows, inner);
      const PackedMatrix of_blocks(type, rows), plain(numbers.view().permute({1, 0}));
      EXPECT_EQ(of_blocks.inner(), inner);
      EXPECT_EQ(of_blocks.columns(), columns);
      const Tensor bias = random_tensor({columns}, 3);
      for (const std::int64_t count : {2, 3, 4, 7, 12, 40, 100}) {
        const Tensor a = random_tensor({count, inner}, 4);
        EXPECT_TRUE(same_bits(product(a, of_blocks, bias), product(a, plain, bias)))
            << type.name << ", " << count << " x " << inner << " x " << columns;
      }
    }
}

// Matrices that are prepared in every way, in an order in which only some neighbours share rows.
TEST(PackedMatrix, SeveralProductsHaveTheBitsOfEachAlone) {
  constexpr std::int64_t kInner = 3 * 256;
  std::vector<PackedMatrix> matrices;
  const auto add = [&](DType dtype, std::int64_t columns) {
    matrices.emplace_back(Tensor::converted(random_tensor({kInner, columns}, 1), dtype));
  };
  const auto add_blocks = [&](const char* name, std::int64_t columns) -> PackedMatrix& {
    const BlockType* const type = block_type_named(name);
    return matrices.emplace_back(*type, random_blocks(*type, columns, kInner));
  };
  for (const DType dtype : kTypes)
    for (const std::int64_t columns : {390, 16, 7}) add(dtype, columns);
  for (const char* const name : {"Q4_0", "Q6_K", "Q4_0", "Q8_0", "IQ4_NL", "Q8_0", "Q2_K"})
    add_blocks(name, 390);
  for (const std::int64_t columns : {40, 1000, 5}) add_blocks("Q4_K", columns);
  for (const std::int64_t columns : {5, 700}) {
    PackedMatrix& last = add_blocks("Q5_K", columns);
    last = last.multiplied_by_bytes();
  }
  const BlockType* const q5 = block_type_named("Q5_K");
  const auto read = [&] { return PackedMatrix(*q5, random_blocks(*q5, 700, kInner)); };
  matrices.emplace_back(
      PackedMatrix::Streamed{.inner = kInner, .columns = 700, .blocks = q5, .read = read});
  const Tensor bias = random_tensor({1000}, 3), others = random_tensor({5, kInner}, 5);
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    for (const std::int64_t rows : {1, 2, 3, 5}) {
      const Tensor a = random_tensor({rows, kInner}, 4);
      std::vector<PackedMatmulArgs> products;
      std::vector<Tensor> found;
      std::vector<View> outs;
      for (const PackedMatrix& b : matrices) {
        const ConstView of_others = others.view().slice(0, 0, rows);
        const bool is_other = products.size() % 8 == 5;
        products.push_back({.a = is_other ? of_others : a.view(),
                            .b = b,
                            .bias = products.size() % 2 == 0
                                        ? ConstView()
                                        : bias.view().slice(0, 0, b.columns())});
        found.push_back(Tensor::empty({rows, b.columns()}));
        outs.push_back(found.back().view());
      }
      matmul(products, outs);
      for (std::size_t i = 0; i < products.size(); ++i)
        EXPECT_TRUE(same_bits(found[i], product(products[i].a, products[i].b, products[i].bias)))
            << "product " << i << ", " << rows << " rows, " << threads << " threads";
    }
  }
  set_thread_count(0);
}

// Sums of whole codes are larger than those of numbers where a minimum or a centre is taken off:
// the error is measured by the sum of magnitudes of both.
void expect_sums(const Tensor& found, const Tensor& expected, const Tensor& a,
                 const Tensor& numbers, const std::string& what) {
  const std::int64_t inner = a.dim(1), columns = numbers.dim(0);
  for (std::int64_t at = 0; at < a.dim(0) * columns; ++at) {
    const std::int64_t i = at / columns, j = at % columns;
    double magnitude = 1;
    for (std::int64_t k = 0; k < inner; ++k) {
      const float* const group = numbers.data<float>() + j * inner + k / 16 * 16;
      const auto [least, most] = std::minmax_element(group, group + 16);
      magnitude +=
          std::abs(a.data<float>()[i * inner + k]) * std::max(std::abs(*least), std::abs(*most));
    }
    ASSERT_NEAR(found.data<float>()[at], expected.data<double>()[at], 4e-7 * magnitude)
        << what << ", " << inner << " x " << columns << ", row " << i << ", column " << j;
  }
}

TEST(PackedMatrix, OfBlocksOneRowIsAsGoodAsInF32) {
  for (const BlockType& type : block_types())
    for (const auto& [blocks, columns] : {Extents2{1, 1}, {3, 33}, {6, 70}, {20, 130}}) {
      const std::int64_t inner = blocks * type.elements;
      const Tensor rows = random_blocks(type, columns, inner);
      const Tensor numbers = widened(type, rows, inner);
      const PackedMatrix of_blocks(type, rows);
      const Tensor bias = random_tensor({columns}, 3), a = random_tensor({1, inner}, 4);
      const Tensor found = product(a, of_blocks, bias);
      const Tensor expected = in_f64(a, numbers.view().permute({1, 0}), bias);
      expect_sums(found, expected, a, numbers, std::string(type.name));
    }
}

// The largest magnitude of each 32 numbers, in the place of each of them.
Tensor largest_of_32(const Tensor& a) {
  Tensor largest = Tensor::empty(a.shape());
  for (std::int64_t at = 0; at < a.element_count(); ++at) {
    const float* const from = a.data<float>() + at / 32 * 32;
    float& most = largest.data<float>()[at] = 0;
    for (int k = 0; k < 32; ++k) most = std::max(most, std::abs(from[k]));
  }
  return largest;
}

// Rows that are tiny or huge, and whose numbers differ by a factor of 4,096: the error is that of
// f32 for the largest of each 32 numbers.
TEST(PackedMatrix, OfBlocksOneRowIsAsGoodAtEveryMagnitude) {
  constexpr float kLeastFloat = std::numeric_limits<float>::denorm_min();
  const std::int64_t inner = 512, columns = 33;
  const Tensor none = Tensor::zeros({columns});
  for (const BlockType& type : block_types()) {
    const Tensor rows = random_blocks(type, columns, inner);
    const Tensor numbers = widened(type, rows, inner);
    const PackedMatrix of_blocks(type, rows);
    for (const float level : {1e-42F, 1e-36F, 1e-30F, 1.0F, 1e25F})
      for (const float outlier : {1.0F, 4096.0F}) {
        if (level < 1e-30F && fills_bytes(type)) continue;  // divides the row by 2^16
        Tensor a = random_tensor({1, inner}, 4);
        for (std::int64_t k = 0; k < inner; ++k)
          a.data<float>()[k] *= k % 32 == 5 ? level * outlier : level;
        const Tensor found = product(a, of_blocks);
        const Tensor expected = in_f64(a, numbers.view().permute({1, 0}), none);
        const Tensor largest = largest_of_32(a);
        for (std::int64_t j = 0; j < columns; ++j) {
          double error = 1e-42;
          for (std::int64_t k = 0; k < inner; ++k)
            error += std::max<double>(4e-7 * largest.data<float>()[k], kLeastFloat) *
                     std::abs(numbers.data<float>()[j * inner + k]);
          ASSERT_NEAR(found.data<float>()[j], expected.data<double>()[j], error)
              << type.name << ", level " << level << ", outlier " << outlier << ", column " << j;
        }
      }
  }
}

// Whether no number is 0 or very large.
bool are_plain(const Tensor& numbers) {
  return std::all_of(numbers.data<float>(), numbers.data<float>() + numbers.element_count(),
                     [](float x) { return x != 0 && std::abs(x) < 1e4F; });
}

// Each 32 numbers of a row rounded to whole multiples of 1/127 of the largest.
Tensor rounded_to_bytes(const Tensor& a) {
  Tensor rounded = Tensor::empty(a.shape());
  for (std::int64_t at = 0; at < a.element_count(); at += 32) {
    const float* const from = a.data<float>() + at;
    const float most = std::abs(*std::max_element(
        from, from + 32, [](float x, float y) { return std::abs(x) < std::abs(y); }));
    for (int k = 0; k < 32; ++k)
      rounded.data<float>()[at + k] =
          most == 0 ? 0 : most / 127 * std::nearbyint(from[k] * (127 / most));
  }
  return rounded;
}

TEST(PackedMatrix, ByBytesIsTheProductOfRoundedRows) {
  for (const BlockType& type : block_types())
    for (const auto& [blocks, columns] : {Extents2{1, 1}, {3, 33}, {9, 70}}) {
      const std::int64_t inner = blocks * type.elements;
      const Tensor rows = random_blocks(type, columns, inner);
      const Tensor numbers = widened(type, rows, inner);
      const PackedMatrix by_bytes = PackedMatrix(type, rows).multiplied_by_bytes();
      const Tensor bias = random_tensor({columns}, 3);
      for (const std::int64_t count : {1, 2, 3, 7}) {
        Tensor a = random_tensor({count, inner}, 4);
        std::fill_n(a.data<float>() + (count - 1) * inner, 32, 0.0F);
        const Tensor rounded = rounded_to_bytes(a);
        expect_sums(product(a, by_bytes, bias),
                    in_f64(rounded, numbers.view().permute({1, 0}), bias), a, numbers,
                    std::string(type.name) + ", " + std::to_string(count) + " rows");
      }
    }
}

// A number of a product by bytes, in plain loops: each group's whole sum is exact, and groups are
// added in order, 256 numbers at a time.
float by_bytes_in_loops(const BlockType& type, const std::uint8_t* column, const float* a,
                        std::int64_t inner, float bias) {
  const int centre = kernels::cpu::centre_of(type);
  const int groups = type.code_bits == 4 || type.code_bits == 8 ? 1 : 2;  // of 32 numbers
  float out = 0, total = 0;
  for (std::int64_t first = 0; first < inner; first += 32) {
    BlockParts parts;
    parts.scales.fill(1);
    parts.least.fill(1);
    type.split(column + first / type.elements * type.bytes, parts);
    float most = 0;
    for (int k = 0; k < 32; ++k) most = std::max(most, std::abs(a[first + k]));
    const float scale_of_a = most / 127;
    int wholes[2] = {}, sums[2] = {};
    for (int k = 0; k < 32; ++k) {
      const int number =
          most == 0 ? 0 : static_cast<int>(std::nearbyint(a[first + k] * (127 / most)));
      const std::uint8_t code = parts.codes[static_cast<std::size_t>(first % type.elements + k)];
      const bool is_value = type.values != nullptr || type.code_bits == 8;
      sums[k / 16] += number;
      wholes[k / 16] += number * (is_value ? type.value(code) + centre : code);
    }
    const float of_halves[2] = {scale_of_a * static_cast<float>(sums[0]),
                                scale_of_a * static_cast<float>(sums[1])};
    for (int group = 0; group < groups; ++group) {
      const auto at = static_cast<std::size_t>(
          (first % type.elements + (type.group < 32 ? 16 * group : 0)) / type.group);
      const float scale = type.factor_of(parts.d) * static_cast<float>(parts.scales[at]);
      const float offset =
          type.has_least ? -(type.factor_of(parts.d_least) * static_cast<float>(parts.least[at]))
                         : scale * static_cast<float>(-centre);
      const int whole = groups == 1 ? wholes[0] + wholes[1] : wholes[group];
      const float sum = groups == 1 ? of_halves[0] + of_halves[1] : of_halves[group];
      total = std::fma(static_cast<float>(whole) * scale, scale_of_a, std::fma(offset, sum, total));
    }
    if (first % 256 != 224 && first + 32 < inner) continue;
    out = first < 256 ? total + bias : total + out;
    total = 0;
  }
  return out;
}

TEST(PackedMatrix, ByBytesHasTheBitsOfPlainLoops) {
  if (kernels::matmul_kernel_name() == std::string("portable"))
    GTEST_SKIP() << "portable multiply-adds may round twice";
  for (const BlockType& type : block_types())
    for (const auto& [blocks, columns] : {Extents2{1, 1}, {3, 33}, {9, 70}}) {
      const std::int64_t inner = blocks * type.elements;
      const Tensor rows = random_blocks(type, columns, inner);
      const PackedMatrix by_bytes = PackedMatrix(type, rows).multiplied_by_bytes();
      const Tensor bias = random_tensor({columns}, 3);
      for (const std::int64_t count : {1, 2, 7, 13}) {
        const Tensor a = random_tensor({count, inner}, 4);
        const Tensor found = product(a, by_bytes, bias);
        for (std::int64_t at = 0; at < count * columns; ++at) {
          const std::int64_t i = at / columns, j = at % columns;
          ASSERT_EQ(found.data<float>()[at],
                    by_bytes_in_loops(type, rows.data<std::uint8_t>() + j * type.bytes_of(inner),
                                      a.data<float>() + i * inner, inner, bias.data<float>()[j]))
              << type.name << ", " << count << " rows, " << inner << " x " << columns << ", row "
              << i << ", column " << j;
        }
      }
    }
}

// Rows of two blocks whose codes have all bits of `byte`.
Tensor rows_of(const BlockType& type, int byte, std::int64_t columns) {
  Tensor block = random_blocks(type, 1, type.elements);
  for (std::int64_t at = 0; at < type.bytes; ++at) {
    const std::uint8_t drawn =
        std::exchange(block.data<std::uint8_t>()[at], static_cast<std::uint8_t>(byte));
    if (!are_plain(widened(type, block, type.elements)))  // it was one of a scale's
      block.data<std::uint8_t>()[at] = drawn;
  }
  Tensor rows = Tensor::empty({columns, 2 * type.bytes}, DType::kU8);
  for (std::int64_t at = 0; at < 2 * columns; ++at)
    std::copy_n(block.data<std::uint8_t>(), type.bytes,
                rows.data<std::uint8_t>() + at * type.bytes);
  return rows;
}
constexpr int kBytes[] = {0x00, 0x7F, 0x80, 0xFF};

// The largest sums that 16 bits have to hold: all codes at one end, all bytes at theirs.
TEST(PackedMatrix, ByBytesTheLargestSumsAreExact) {
  for (const BlockType& type : block_types())
    for (const int byte : kBytes)
      for (const float sign : {1.0F, -1.0F}) {
        const std::int64_t inner = 2 * type.elements, columns = 33;
        const Tensor rows = rows_of(type, byte, columns);
        const Tensor numbers = widened(type, rows, inner);
        Tensor a = Tensor::empty({5, inner});
        std::fill_n(a.data<float>(), a.element_count(), sign);
        expect_sums(product(a, PackedMatrix(type, rows).multiplied_by_bytes()),
                    in_f64(a, numbers.view().permute({1, 0}), Tensor::zeros({columns})), a, numbers,
                    std::string(type.name) + " of " + std::to_string(byte));
      }
}

// The same for one row in three digits: 127, -127 or -128 in each, beside the largest whole number.
TEST(PackedMatrix, OfBlocksTheLargestSumsOfDigitsAreExact) {
  constexpr float kMost = 0x7F7F7F;
  for (const BlockType& type : block_types())
    for (const int byte : fills_bytes(type) ? std::span<const int>() : std::span(kBytes))
      for (const float whole : {kMost, -kMost, -128.0F * (1 + 256), -128.0F * (1 + 256 + 65536)}) {
        const std::int64_t inner = 2 * type.elements, columns = 33;
        const Tensor rows = rows_of(type, byte, columns);
        const Tensor numbers = widened(type, rows, inner);
        Tensor a = Tensor::empty({1, inner});
        for (std::int64_t k = 0; k < inner; ++k) a.data<float>()[k] = k % 32 == 0 ? kMost : whole;
        expect_sums(product(a, PackedMatrix(type, rows)),
                    in_f64(a, numbers.view().permute({1, 0}), Tensor::zeros({columns})), a, numbers,
                    std::string(type.name) + " of " + std::to_string(byte));
      }
}

TEST(PackedMatrix, OfBlocksANumberThatIsNotFiniteIsSeen) {
  for (const BlockType& type : block_types()) {
    const PackedMatrix b(type, random_blocks(type, 40, 512));
    for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
      Tensor a = random_tensor({1, 512}, 1);
      a.data<float>()[100] = bad;
      const Tensor out = product(a, b);
      for (std::int64_t at = 0; at < 40; ++at)
        EXPECT_FALSE(std::isfinite(out.data<float>()[at])) << type.name << " " << at;
    }
  }
}

TEST(PackedMatrix, ByBytesARowDependsOnNeitherOtherRowsNorThreads) {
  for (const BlockType& type : block_types()) {
    const std::int64_t inner = 5 * 256, columns = 390;
    const PackedMatrix b =
        PackedMatrix(type, random_blocks(type, columns, inner)).multiplied_by_bytes();
    const Tensor a = random_tensor({410, inner}, 2);
    set_thread_count(1);
    const Tensor all = product(a, b);
    for (const int threads : {1, 2, 3}) {
      set_thread_count(threads);
      for (const std::int64_t rows : {1, 2, 3, 5, 48, 410})
        EXPECT_TRUE(same_bits(product(a.view().slice(0, 410 - rows, 410), b),
                              all.view().slice(0, 410 - rows, 410)))
            << type.name << ", " << rows << " rows, " << threads << " threads";
    }
  }
  set_thread_count(0);
}

TEST(PackedMatrix, ByBytesANumberThatIsNotFiniteStaysInItsRow) {
  const BlockType& type = *block_type_named("Q4_0");
  const PackedMatrix b = PackedMatrix(type, random_blocks(type, 40, 96)).multiplied_by_bytes();
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    Tensor a = random_tensor({6, 96}, 1);
    a.data<float>()[3 * 96 + 40] = bad;
    const Tensor out = product(a, b);
    for (std::int64_t at = 0; at < out.element_count(); ++at)
      EXPECT_EQ(std::isnan(out.data<float>()[at]), at / 40 == 3) << at;
  }
}

TEST(PackedMatrix, ByBytesNeedsBlocks) {
  EXPECT_HEED_ERROR(
      PackedMatrix(Tensor::zeros({2, 3})).multiplied_by_bytes(), ErrorCode::kInvalidArgument,
      "packed_matrix: matrix is f32, expected quantised blocks, to be multiplied by bytes");
}

TEST(PackedMatrix, OfBlocksTakesTheirMemoryAndGivesTheirRowsBack) {
  for (const BlockType& type : block_types()) {
    const std::int64_t inner = 3 * type.elements, columns = 37;
    const Tensor rows = random_blocks(type, columns, inner);
    const Tensor numbers = widened(type, rows, inner);
    const PackedMatrix packed(type, rows);
    std::vector<float> row(static_cast<std::size_t>(inner));
    for (const std::int64_t index : {0, 20, 36}) {
      packed.copy_column(index, row.data());
      // -0 and 0 are the same number.
      EXPECT_TRUE(std::equal(row.begin(), row.end(), numbers.data<float>() + index * inner))
          << type.name << ", " << index;
    }
    const kernels::Panels panels = {
        .inner = type.elements, .columns = kernels::panel_columns(), .blocks = &type};
    EXPECT_LE(kernels::panel_bytes(panels), (type.bytes * 6 / 5 + 4) * kernels::panel_columns())
        << type.name;
  }
}

TEST(PackedMatrix, SaysWhatDoesNotFit) {
  EXPECT_HEED_ERROR(
      PackedMatrix(Tensor::zeros({2, 3}, DType::kF64)), ErrorCode::kInvalidArgument,
      "packed_matrix: b is f64 [2, 3], expected a matrix of f32, f16 or bf16 that is not empty");
  const PackedMatrix b(Tensor::zeros({2, 3}));
  Tensor out = Tensor::zeros({4, 3});
  const Tensor a = Tensor::zeros({4, 5});
  EXPECT_HEED_ERROR(matmul({.a = a, .b = b}, out), ErrorCode::kInvalidArgument,
                    "matmul: a is f32 [4, 5], expected f32 [rows, 2] (b's rows)");
}

}  // namespace
}  // namespace heed
