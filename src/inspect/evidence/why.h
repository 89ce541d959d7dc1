// Why one weight has its value: its score as a sum of named terms, always with the residual.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "heed/look.h"
#include "inspect/evidence/score_parts.h"

namespace heed {

struct Term {
  std::string name;
  double value = 0;
};

struct Sum {
  std::vector<Term> terms = {};
  double sum = 0;
  double residual = 0;  // the number itself minus `sum`
};

inline Sum sum_to(double number, std::vector<Term> terms) {
  Sum sum{.terms = std::move(terms)};
  for (const Term& term : sum.terms) sum.sum += term.value;
  sum.residual = number - sum.sum;
  return sum;
}

struct WhyKey {
  std::int64_t key = 0;
  double score = 0;
  double weight = 0;
};

/// One rotary band: what its pair of dimensions adds to the actual score, and to the score with the
/// key next to its query.
struct WhyBand {
  double tokens_a_turn = 0;
  double still = 0;
  double turned = 0;
};

/// What a sum by dimension is compared with: nothing, the mean over the visible keys, or the key
/// with the largest weight besides this one.
enum class Against : std::uint8_t { kRaw, kMean, kRunner };

struct Why {
  Place place;
  std::int64_t query = 0, key = 0;
  bool visible = false;  // false: the mask hides the key; its weight is 0
  double score = 0, lse = 0, weight = 0;
  std::int64_t rank = 0, of = 0;
  Sum sum = {};  // content, position, soft cap, bias, slope: to the score
  double scale = 1, softcap = 0;
  std::vector<double> q = {}, k = {}, mean_key = {}, runner_key = {};  // as used in the score
  Sum raw = {}, against_mean = {}, against_runner = {};  // by dimension, before soft cap and bias
  std::optional<std::int64_t> runner = {};
  std::vector<WhyKey> keys = {};  // the row's largest weights
  std::int64_t rest_count = 0;
  double rest_weight = 0;
  std::vector<WhyBand> bands = {};  // if queries and keys are rotated
  std::vector<double> curve = {};   // the score if this key were 0, 1, ... tokens back
};

/// `model` (null: not available) provides the rotation. Without it, content includes positions.
Why why(const Session& session, const LoadedModel* model, const Place& place, std::int64_t query,
        std::int64_t key);

/// The rotation of this attention's rows in a text of `tokens`; empty if there is none.
Turns turns_of(const LoadedModel* model, const Session& session, const Place& place);

}  // namespace heed
