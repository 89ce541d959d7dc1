#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "heed/error.h"
#include "heed/observe.h"
#include "inspect/rows/lines.h"
#include "inspect/saved/held.h"

namespace heed {
namespace {

constexpr std::int64_t kMostKeys = 0xffff;

// 0 below 2^-24, else the logarithm in 65,535 steps: half a step is 1.27e-4 of the weight.
std::uint16_t code_of(float weight) {
  constexpr double kSteps = 0xffff, kOctaves = 24;
  const double at = 1 + std::log2(static_cast<double>(weight)) / kOctaves;
  return static_cast<std::uint16_t>(std::lround(kSteps * std::clamp(at, 0.0, 1.0)));
}

// The keys from the first to the last visible one, if the row sees all between.
RowSpan run_of(std::span<const float> row, std::int64_t visible) {
  const auto is_seen = [](float weight) { return weight != kHiddenWeight; };
  const auto first = std::ranges::find_if(row, is_seen);
  const RowSpan run = {first - row.begin(), first - row.begin() + visible};
  const bool is_run = std::all_of(first, row.begin() + run.end, is_seen);
  return is_run ? run : RowSpan{};
}

class Rows {
 public:
  void add(const RowView& row, std::int64_t most) {
    Largest listed = largest_of(row.weights, {.at_most = most});
    RowSpan run;
    if (listed.rest_count > 0) {
      run = run_of(row.weights, listed.visible);
      if (run.end == 0) listed = largest_of(row.weights, {});
    }
    counts_.push_back(static_cast<std::uint16_t>(listed.entries.size()));
    begins_.push_back(static_cast<std::uint16_t>(run.begin));
    ends_.push_back(static_cast<std::uint16_t>(run.end));
    rests_.push_back(static_cast<float>(listed.rest_weight));
    is_whole_ = is_whole_ && listed.rest_count == 0;
    for (const Entry& entry : in_order(std::move(listed.entries))) {
      if (std::isnan(entry.weight))
        fail({.code = ErrorCode::kUnsupported,
              .op = "html",
              .found = fmt::format("row {} has a weight that is not a number", row.query)});
      keys_.push_back(static_cast<std::uint16_t>(entry.at));
      codes_.push_back(code_of(entry.weight));
    }
  }

  HeldWeightsAnswer answer(std::int64_t most) const {
    return {.largest = is_whole_ ? std::nullopt : std::optional(most),
            .counts = packed(counts_),
            .begins = packed(begins_),
            .ends = packed(ends_),
            .rests = packed(rests_),
            .keys = packed(keys_),
            .codes = packed(codes_)};
  }

 private:
  std::vector<std::uint16_t> counts_, begins_, ends_, keys_, codes_;
  std::vector<float> rests_;
  bool is_whole_ = true;
};

}  // namespace

HeldWeightsAnswer held_weights(const LayerAttention& layer, int head, std::int64_t most) {
  if (layer.keys() > kMostKeys)
    fail({.code = ErrorCode::kUnsupported,
          .op = "html",
          .found = fmt::format("{} keys whose weights q and k alone do not give", layer.keys()),
          .expected = fmt::format("at most {}", kMostKeys)});
  Rows rows;
  visit_lines(layer, {.head = head}, [&](const RowView& row) { rows.add(row, most); });
  return rows.answer(most);
}

}  // namespace heed
