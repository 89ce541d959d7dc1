#include "inspect/heads/late_scores.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "base/stop.h"
#include "inspect/evidence/edited_run.h"
#include "inspect/evidence/model_streams.h"

namespace heed {
namespace {

std::tuple<Stack, int, int> key_of(const Place& place) {
  return {place.stack, place.layer, place.head};
}

double mean(const LateRows& rows) {
  return rows.empty()
             ? kNoScore
             : std::accumulate(rows.begin(), rows.end(), 0.0) / static_cast<double>(rows.size());
}

}  // namespace

ProbeOptions usual_probe(const LoadedModel& model) {
  const ModelInfo& info = model.model->info();
  const std::int64_t positions = info.reads_source() ? info.source_positions : info.positions;
  return {.sequences = 16, .period = std::min<std::int64_t>(40, positions / 2)};
}

std::vector<double> LateScores::values(const Place& place, ScoreFrom from, Cancel& cancel) {
  std::vector<double> values(all_scores().size(), kNoScore);
  if (model_ == nullptr) return values;
  const auto lock = lock_unless(cancel, guard_);
  const std::function<bool()> asked = [&] { return cancel.asked(); };
  const AskScope ask(asked);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Score& score = all_scores()[i];
    if (score.info.from != from) continue;
    if (score.rows != nullptr) values[i] = mean((this->*score.rows)(place));
    if (score.late == nullptr) continue;
    if (const ProbedHead* head = probed(place)) values[i] = head->*score.late;
  }
  keep(place, values);
  return values;
}

void LateScores::keep(const Place& place, const std::vector<double>& values) {
  const std::scoped_lock lock(guard_known_);
  std::vector<double>& known = known_[key_of(place)];
  known.resize(values.size(), kNoScore);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isnan(values[i])) known[i] = values[i];
}

std::vector<double> LateScores::known(const Place& place) const {
  const std::scoped_lock lock(guard_known_);
  const auto found = known_.find(key_of(place));
  return found != known_.end() ? found->second : std::vector<double>(all_scores().size(), kNoScore);
}

LateRows LateScores::rows(std::size_t score, const Place& place, Cancel& cancel) {
  const auto lock = lock_unless(cancel, guard_);
  const std::function<bool()> asked = [&] { return cancel.asked(); };
  const AskScope ask(asked);
  return (this->*all_scores()[score].rows)(place);
}

const ProbedHead* LateScores::probed(const Place& place) {
  const Stack probed_stack = session_.stacks.at(0).shape.stack;
  if (model_ == nullptr || place.stack != probed_stack) return nullptr;
  const ProbeOptions options = usual_probe(*model_);
  if (options.period < 2) return nullptr;
  if (!probe_) probe_ = probe_heads(*model_, options);
  const auto found = std::ranges::find_if(probe_->heads, [&](const ProbedHead& head) {
    return head.layer == place.layer && head.head == place.head;
  });
  return found == probe_->heads.end() ? nullptr : &*found;
}

const LateRows& LateScores::losses_without(const Place& place) {
  const auto known = rises_.find(key_of(place));
  if (known != rises_.end()) return known->second;
  LateRows rises;
  if (model_ != nullptr && session_.info.has_logits) {
    if (!losses_) losses_ = edited_losses(session_, {}, *model_);
    const std::vector<double> without = edited_losses(session_, {.ablate = {place}}, *model_);
    for (std::size_t t = 0; t < without.size(); ++t)
      rises.push_back(static_cast<float>(without[t] - losses_->at(t)));
  }
  return rises_[key_of(place)] = std::move(rises);
}

// For all heads at once, because one pass gives every head's.
const LateRows& LateScores::direct(const Place& place) {
  if (!direct_) {
    ByPlace rows;
    if (model_ != nullptr)
      for (DirectWrites& head : direct_writes(session_, *model_))
        rows[key_of(head.place)] = std::move(head.logits);
    direct_ = std::move(rows);
  }
  return (*direct_)[key_of(place)];
}

}  // namespace heed
