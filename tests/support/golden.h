// A model folder with its golden.safetensors: the numbers that transformers gave.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "heed/model.h"
#include "heed/observe.h"
#include "io/tensor_files.h"
#include "support/random_tensor.h"

namespace heed::test {

/// The i64 ids of a file as the i32 that models take.
inline Tensor ids_of(const Safetensors& golden, const std::string& name) {
  const ConstView stored = golden.tensor(name);
  Tensor ids = Tensor::empty(stored.shape(), DType::kI32);
  for (std::int64_t i = 0; i < ids.element_count(); ++i)
    ids.data<std::int32_t>()[i] = static_cast<std::int32_t>(stored.data<std::int64_t>()[i]);
  return ids;
}

/// The lengths of the rows of attention_mask (ones, then zeros).
inline std::vector<std::int64_t> lengths_of(const Safetensors& golden) {
  const Tensor mask = ids_of(golden, "attention_mask");
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(mask.dim(0)));
  for (std::int64_t i = 0; i < mask.element_count(); ++i)
    lengths[static_cast<std::size_t>(i / mask.dim(1))] += mask.data<std::int32_t>()[i];
  return lengths;
}

/// Keeps every hidden state and every attention's weights.
class GoldenTap : public Tap {
 public:
  void at(const TapName& name, View value) override {
    if (name.kind == TapKind::kEmbedding || name.kind == TapKind::kResidual)
      hidden.push_back(Tensor::copy_of(value));
    if (name.kind == TapKind::kFinal) last = Tensor::copy_of(value);
  }
  void attended(const TapName& /*name*/, const AttentionArgs& args,
                const AttendedConstView& attended) override {
    SelectionObserver observer;
    Observer* const observers[] = {&observer};
    observe(args, attended, observers);
    weights.push_back(std::move(observer.values));
  }

  std::vector<Tensor> hidden;
  Tensor last;
  std::vector<Tensor> weights;
};

/// The first `length` positions (axis 1, or 2 for weights) of every row agree within `tolerance`.
inline void expect_rows_near(const ConstView& got, const ConstView& expected, int axis,
                             const std::vector<std::int64_t>& lengths, double tolerance,
                             const std::string& what) {
  ASSERT_EQ(got.shape(), expected.shape()) << what;
  for (std::int64_t row = 0; row < got.dim(0); ++row) {
    const auto part = [&](const ConstView& all) {
      return all.select(0, row).slice(axis - 1, 0, lengths[static_cast<std::size_t>(row)]);
    };
    EXPECT_LE(largest_difference(part(got), part(expected)), tolerance)
        << what << " of row " << row;
  }
}

}  // namespace heed::test
