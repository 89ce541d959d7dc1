#include "inspect/heads/head_evidence.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "base/stop.h"
#include "heed/error.h"
#include "inspect/rows/lines.h"

namespace heed {
namespace {

constexpr std::int64_t kDistances = 16;
constexpr std::size_t kWorst = 3;

// Sums weights by distance, row by row.
class Profile {
 public:
  Profile(std::int64_t begin, std::int64_t count)
      : begin_(begin), sums_(static_cast<std::size_t>(count)), rows_(sums_.size()) {}

  void add(std::int64_t row, std::span<const float> weights) {
    for (std::size_t at = 0; at < sums_.size(); ++at) {
      const std::int64_t key = row - begin_ - static_cast<std::int64_t>(at);
      if (key < 0 || key >= std::ssize(weights)) continue;
      sums_[at] += static_cast<double>(weights[static_cast<std::size_t>(key)]);
      ++rows_[at];
    }
  }

  std::vector<float> means() const {
    std::vector<float> means;
    for (std::size_t at = 0; at < sums_.size(); ++at)
      means.push_back(static_cast<float>(rows_[at] > 0 ? sums_[at] / rows_[at] : 0));
    return means;
  }

 private:
  std::int64_t begin_;
  std::vector<double> sums_;
  std::vector<int> rows_;
};

std::int64_t largest_key(std::span<const float> weights) {
  return std::ranges::max_element(weights) - weights.begin();
}

// The rows that contradict the score most: the smallest values, or the largest if more is worse.
std::vector<WorstRow> worst_rows(const HeadEvidence& evidence, bool largest) {
  std::vector<WorstRow> rows;
  for (std::size_t at = 0; at < evidence.rows.size(); ++at)
    if (!std::isnan(evidence.rows[at]))
      rows.push_back({.row = evidence.first_row + static_cast<std::int64_t>(at),
                      .value = static_cast<double>(evidence.rows[at])});
  const auto count = static_cast<std::ptrdiff_t>(std::min(kWorst, rows.size()));
  std::ranges::partial_sort(rows, rows.begin() + count, {},
                            [&](const WorstRow& row) { return largest ? -row.value : row.value; });
  rows.resize(static_cast<std::size_t>(count));
  return rows;
}

void name_keys(HeadEvidence& evidence, const std::vector<std::int64_t>& largest,
               const std::vector<float>& weights) {
  for (WorstRow& row : evidence.worst) {
    const auto at = static_cast<std::size_t>(row.row - evidence.first_row);
    row.key = largest[at];
    row.weight = static_cast<double>(weights[at]);
  }
}

std::int64_t counted(const std::vector<float>& rows) {
  return std::ranges::count_if(rows, [](float value) { return !std::isnan(value); });
}

[[noreturn]] void refuse_absent(const EvidenceRequest& request, std::string_view why) {
  fail("evidence", "score", score_infos()[request.score].name, why, ErrorCode::kNotFound);
}

// What a sweep over all rows of a head finds besides its score.
struct RowsSeen {
  std::vector<std::int64_t> largest;  // keys
  std::vector<float> weights;         // their weights
};

void see_row(HeadEvidence& evidence, const ScoreObserver& observer, int which, const RowView& row,
             RowsSeen& seen) {
  const std::int64_t key = largest_key(row.weights);
  seen.largest.push_back(key);
  seen.weights.push_back(row.weights[static_cast<std::size_t>(key)]);
  const bool counts = !std::isnan(evidence.rows[static_cast<std::size_t>(row.query)]);
  const std::optional<bool> is_first = observer.counts(which, row.query, key);
  if (is_first) evidence.first_of_row = evidence.first_of_row.value_or(0) + (counts && *is_first);
}

HeadEvidence of_text(const LateScores& late, const EvidenceRequest& request, Cancel& cancel) {
  const Score& score = all_scores()[request.score];
  const Place& place = request.place;
  const LayerAttention& layer = late.session().at(place);
  const auto observer = score.make(scored_layer(late.session(), place.stack, place.layer));
  if (!observer) refuse_absent(request, "a score of such an attention");
  HeadEvidence evidence{.place = place, .score = std::string(score.info.name)};
  observer->keep_rows(place.head);
  SweepStop stop([&](const ObservedRows&) { cancel.check(); });
  const std::array<Observer*, 2> observers = {&stop, observer.get()};
  observe(layer.args(), layer.attended(), observers);
  evidence.rows = observer->of_rows(score.which, request.form);
  evidence.counted = counted(evidence.rows);
  evidence.is_of_keys = observer->is_of_keys();
  if (evidence.is_of_keys) {
    evidence.worst = worst_rows(evidence, false);
    return evidence;
  }
  Profile profile(0, kDistances);
  RowsSeen seen;
  visit_lines(layer, {.head = place.head, .hidden = 0}, [&](const RowView& row) {
    cancel.check();
    profile.add(row.query, row.weights);
    see_row(evidence, *observer, score.which, row, seen);
  });
  evidence.profile = profile.means();
  evidence.worst = worst_rows(evidence, !evidence.first_of_row);
  name_keys(evidence, seen.largest, seen.weights);
  return evidence;
}

// Adds the second half's rows of one sequence.
void add_probed(HeadEvidence& evidence, const LayerAttention& layer, std::int64_t back, float share,
                Profile& profile) {
  LinesRequest rows{.head = evidence.place.head, .hidden = 0};
  for (std::int64_t row = evidence.first_row; row < layer.queries(); ++row)
    rows.rows.push_back(row);
  visit_lines(layer, rows, [&](const RowView& row) {
    const std::int64_t key = row.query - back;
    profile.add(row.query, row.weights);
    evidence.rows[static_cast<std::size_t>(row.query - evidence.first_row)] +=
        row.weights[static_cast<std::size_t>(key)] * share;
    *evidence.first_of_row += largest_key(row.weights) == key ? 1 : 0;
    ++evidence.counted;
  });
}

// Over the rows of each sequence's second half, averaged over the sequences.
HeadEvidence of_probe(const LateScores& late, const EvidenceRequest& request, Cancel& cancel) {
  const ScoreInfo& info = score_infos()[request.score];
  const ProbeOptions options = usual_probe(*late.model());
  if (options.period < 2 || request.place.stack != late.session().stacks.at(0).shape.stack)
    refuse_absent(request, "a score of the first stack's heads");
  const std::int64_t back = options.period - (info.name == "probe_duplicate" ? 0 : 1);
  HeadEvidence evidence{.place = request.place, .score = std::string(info.name)};
  evidence.first_row = options.period;
  evidence.rows.assign(static_cast<std::size_t>(options.period), 0);
  evidence.first_of_row = 0;
  evidence.profile_begin = std::max<std::int64_t>(back - kDistances / 2, 0);
  Profile profile(evidence.profile_begin, kDistances);
  const std::function<bool()> asked = [&] { return cancel.asked(); };
  const AskScope ask(asked);
  visit_probe(*late.model(), options, [&](const Session& session, std::int64_t) {
    add_probed(evidence, session.at(request.place), back,
               1.0F / static_cast<float>(options.sequences), profile);
  });
  evidence.profile = profile.means();
  evidence.worst = worst_rows(evidence, false);
  return evidence;
}

HeadEvidence of_run(LateScores& late, const EvidenceRequest& request, Cancel& cancel) {
  const Score& score = all_scores()[request.score];
  HeadEvidence evidence{.place = request.place, .score = std::string(score.info.name)};
  evidence.rows = late.rows(request.score, request.place, cancel);
  if (evidence.rows.empty()) refuse_absent(request, "a head of a model whose words it reaches");
  evidence.first_row = score.is_of_next && late.session().info.writes() ? 1 : 0;
  evidence.counted = std::ssize(evidence.rows);
  evidence.worst = worst_rows(evidence, score.more_is_worse);
  return evidence;
}

}  // namespace

HeadEvidence head_evidence(LateScores& late, const EvidenceRequest& request, Cancel& cancel) {
  const ScoreFrom from = score_infos()[request.score].from;
  if (from == ScoreFrom::kText) return of_text(late, request, cancel);
  if (late.model() == nullptr) refuse_absent(request, "a score of weights: there is no model");
  return from == ScoreFrom::kProbe ? of_probe(late, request, cancel)
                                   : of_run(late, request, cancel);
}

}  // namespace heed
