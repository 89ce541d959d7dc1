// The weights or scores of a rectangle of the attention matrix.
#pragma once

#include <cstdint>
#include <string_view>

#include "heed/ops/observe.h"
#include "heed/tensor/tensor.h"

namespace heed {

/// Heads, rows, keys and batches by half-open ranges of logical indices; an end of -1 is the last.
struct Region {
  std::int64_t head_begin = 0;
  std::int64_t head_end = -1;
  std::int64_t row_begin = 0;
  std::int64_t row_end = -1;
  std::int64_t key_begin = 0;
  std::int64_t key_end = -1;
  std::int64_t batch_begin = 0;  // of packed sequences: their indices
  std::int64_t batch_end = -1;

  /// The same with its ends filled in; throws where it does not fit.
  Region resolved(const ObservedShape& shape) const;
  /// Of a region that is resolved.
  std::int64_t batches() const { return batch_end - batch_begin; }
  std::int64_t heads() const { return head_end - head_begin; }
  std::int64_t rows() const { return row_end - row_begin; }
  std::int64_t keys() const { return key_end - key_begin; }
  /// Where a (batch, head) of it comes among the others.
  std::int64_t place(const ObservedRows& of) const {
    return (of.batch - batch_begin) * heads() + of.head - head_begin;
  }
  bool meets(const ObservedRows& rows) const;
  RowSpan rows_of(std::int64_t batch, std::int64_t head) const {
    const bool inside =
        batch_begin <= batch && batch < batch_end && head_begin <= head && head < head_end;
    return inside ? RowSpan{row_begin, row_end} : RowSpan{};
  }
  bool meets(std::int64_t begin, std::int64_t end) const {  // keys
    return key_begin < end && begin < key_end;
  }
};

/// Which value of a pair. Weights are 0 where masked and past the lengths; scores, after all their
/// stages, are -inf there. Scores of the three earlier stages are defined at masked pairs too; past
/// the lengths they are -inf.
enum class ObservedValue : std::uint8_t {
  kWeights,
  kScores,
  kBeforeSoftcap,  // scale * similarity
  kBeforeBias,     // after the softcap
  kBeforeMask,     // after bias and ALiBi
};

/// Which array of the tile holds this value, and where.
TileParts parts_of(ObservedValue value);
const float* values_of(const ObservedTile& tile, ObservedValue value);

/// The values of a region as they are.
class RegionObserver : public Observer {
 public:
  explicit RegionObserver(const Region& region = {}, ObservedValue value = ObservedValue::kWeights);
  std::string_view name() const override { return "region"; }
  RowSpan rows_needed(std::int64_t batch, std::int64_t head) const override {
    return region_.rows_of(batch, head);
  }
  bool needs(const ObservedRows& rows) const override;
  bool needs(const ObservedRows& rows, std::int64_t key_begin, std::int64_t key_end) const override;
  void begin(const ObservedShape& shape) override;
  TileParts parts() const override { return parts_of(value_); }
  std::unique_ptr<State> rows(const ObservedRows& rows) const override;
  void tile(State& state, const ObservedRows& rows, const ObservedTile& tile) const override;
  void merge(State& state, const ObservedRows& rows) override;

  Tensor values;  // [batches, heads, rows, keys] of the region, f32

 private:
  Region asked_;
  Region region_ = {};  // what was asked for, of the problem that is observed
  ObservedValue value_;
};

}  // namespace heed
