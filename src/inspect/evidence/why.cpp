#include "inspect/evidence/why.h"

#include <fmt/format.h>

#include <numbers>
#include <numeric>

#include "inspect/rows/lines.h"

namespace heed {
namespace {

constexpr std::int64_t kKeys = 8;

double total(const std::vector<double>& terms) {
  return std::accumulate(terms.begin(), terms.end(), 0.0);
}

std::vector<double> doubles(std::span<const float> row) { return {row.begin(), row.end()}; }

Sum by_dimension(const std::vector<double>& terms, double number) {
  std::vector<Term> named;
  for (const double term : terms) named.push_back({fmt::format("{}", named.size()), term});
  return sum_to(number, std::move(named));
}

// Reads weights and scores of the row.
void read_row(const LayerAttention& layer, Why& why) {
  visit_lines(layer, {.head = why.place.head, .rows = {why.query}, .scores = true},
              [&](const RowView& row) {
                const Largest ranked = largest_of(row.weights, {});
                why.of = ranked.visible;
                for (const Entry& entry : ranked.entries) {
                  const double score = row.scores[static_cast<std::size_t>(entry.at)];
                  if (entry.at == why.key) {
                    why.rank = &entry - ranked.entries.data() + 1;
                    why.score = score;
                    why.weight = entry.weight;
                    why.visible = true;
                  } else if (!why.runner) {
                    why.runner = entry.at;
                  }
                  if (std::ssize(why.keys) < kKeys)
                    why.keys.push_back({entry.at, score, entry.weight});
                  else
                    why.rest_weight += entry.weight;
                }
                why.rest_count = why.of - std::ssize(why.keys);
              });
  if (layer.lse.given() && layer.lse.element_count() > 0) {
    const std::int64_t at = why.place.head * layer.lse.dim(2) + why.query;
    why.lse = static_cast<double>(layer.lse.data<float>()[at]) +
              (layer.lse_low.given() ? layer.lse_low.data<float>()[at] : 0);
  }
}

// Compares by dimension with the mean over the visible keys and with the runner-up.
void compare(const HeadRows& rows, const std::vector<double>& terms, Why& why) {
  const auto query = rows.query(why.query);
  const std::vector<std::int64_t> keys = rows.visible_keys(why.query);
  std::vector<double> mean(terms.size()), against = terms;
  why.mean_key.resize(terms.size());
  for (const std::int64_t key : keys) {
    const std::vector<double> of = rows.terms(query, rows.key(key));
    for (std::size_t d = 0; d < of.size(); ++d) {
      mean[d] += of[d] / static_cast<double>(keys.size());
      why.mean_key[d] += static_cast<double>(rows.key(key)[d]) / static_cast<double>(keys.size());
    }
  }
  for (std::size_t d = 0; d < mean.size(); ++d) against[d] -= mean[d];
  why.against_mean = by_dimension(against, total(terms) - total(mean));
  if (!why.runner) return;
  why.runner_key = doubles(rows.key(*why.runner));
  const std::vector<double> other = rows.terms(query, rows.key(*why.runner));
  for (std::size_t d = 0; d < other.size(); ++d) against[d] = terms[d] - other[d];
  why.against_runner = by_dimension(against, total(terms) - total(other));
}

// The score's terms by pair, with the key rotated by `tokens` more.
std::vector<double> bands_at(const Why& why, const Turns& turns, double tokens) {
  std::vector<double> key = why.k;
  turn(key, turns, tokens);
  std::vector<double> bands;
  for (std::size_t n = 0; n < turns.angles.size(); ++n) {
    const auto [first, second] = turns.pair(n);
    bands.push_back(why.scale * (why.q[first] * key[first] + why.q[second] * key[second]));
  }
  return bands;
}

// The effect of rotation: the bands, and the score at every distance.
double read_turns(const HeadRows& rows, const Turns& turns, double raw, Why& why) {
  if (turns.angles.empty()) return 0;
  const double back = static_cast<double>(why.query - why.key);
  const std::vector<double> turned = bands_at(why, turns, 0), still = bands_at(why, turns, back);
  for (std::size_t n = 0; n < turned.size(); ++n)
    why.bands.push_back({2 * std::numbers::pi / turns.angles[n], still[n], turned[n]});
  const double beside = rows.bias(why.query, why.key) + rows.alibi(why.query, why.key);
  for (std::int64_t distance = 0; distance <= why.query; ++distance) {
    const double there = total(bands_at(why, turns, back - static_cast<double>(distance)));
    why.curve.push_back(rows.capped(raw - total(turned) + there) + beside);
  }
  return total(turned) - total(still);
}

}  // namespace

Why why(const Session& session, const LoadedModel* model, const Place& place, std::int64_t query,
        std::int64_t key) {
  const LayerAttention& layer = session.at(place);
  const HeadRows rows(layer, place.head);
  Why why{.place = place, .query = query, .key = key};
  read_row(layer, why);
  why.scale = rows.scale();
  why.softcap = layer.scores.softcap;
  why.q = doubles(rows.query(query));
  why.k = doubles(rows.key(key));
  const std::vector<double> terms = rows.terms(rows.query(query), rows.key(key));
  const double raw = total(terms);
  why.raw = by_dimension(terms, raw);
  compare(rows, terms, why);
  const Turns turns = turns_of(model, session, place);
  const double position = read_turns(rows, turns, raw, why);
  std::vector<Term> parts = {{"content", raw - position}};
  if (!turns.angles.empty()) parts.push_back({"position", position});
  if (why.softcap > 0) parts.push_back({"soft cap", rows.capped(raw) - raw});
  if (layer.scores.bias.given()) parts.push_back({"bias", rows.bias(query, key)});
  if (layer.scores.alibi.given()) parts.push_back({"slope", rows.alibi(query, key)});
  why.sum = sum_to(0, std::move(parts));
  if (!why.visible) why.score = why.sum.sum;  // masked: nothing was scored
  why.sum.residual = why.score - why.sum.sum;
  return why;
}

}  // namespace heed
