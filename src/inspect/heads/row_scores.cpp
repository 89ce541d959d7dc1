#include "inspect/heads/row_scores.h"

namespace heed {
void RowScores::begin(const ObservedShape& shape) {
  sums_.assign(static_cast<std::size_t>(shape.heads) * scores_, {});
  kept_.assign(kept_head_ >= 0 ? scores_ : 0, {});
}

void RowScores::add(const ObservedRows& rows, int which, const RowScore& row, double sink) {
  const auto score = static_cast<std::size_t>(which);
  Sums& sum = sums_[static_cast<std::size_t>(rows.head) * scores_ + score];
  const double left = std::max(1 - sink, 0.0);
  if (row.has_raw) {
    sum.raw += row.raw;
    ++sum.rows;
  }
  if (row.has_adjusted) {
    sum.adjusted += row.adjusted;
    sum.left += left;
  }
  if (kept_head_ < 0) return;
  const double adjusted = row.has_adjusted && left > 0 ? row.adjusted / left : kNoScore;
  kept_[score][0].push_back(static_cast<float>(row.has_raw ? row.raw : kNoScore));
  kept_[score][1].push_back(static_cast<float>(adjusted));
}

double RowScores::score(std::int64_t head, int which, ScoreForm form) const {
  const Sums& sum =
      sums_[static_cast<std::size_t>(head) * scores_ + static_cast<std::size_t>(which)];
  if (form == ScoreForm::kRaw) return sum.rows > 0 ? sum.raw / static_cast<double>(sum.rows) : 0;
  return sum.left == 0 ? 0 : sum.adjusted / sum.left;  // NaN stays
}

std::vector<float> RowScores::of_rows(int which, ScoreForm form) const {
  return kept_.at(static_cast<std::size_t>(which))[static_cast<std::size_t>(form)];
}

}  // namespace heed
