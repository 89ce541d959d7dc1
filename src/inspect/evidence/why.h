// Why one weight is what it is: its score as a sum of named terms, with what is left over always said.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "heed/inspect/look.h"
#include "inspect/evidence/score_parts.h"

namespace heed {

struct Term {
  std::string name;
  double value = 0;
};

struct Sum {
  std::vector<Term> terms = {};
  double sum = 0;
  double residual = 0;  // the number itself less `sum`
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

/// One rotary band: what its pair of dimensions adds to the score as it stands, and where the key
/// would stand beside its query.
struct WhyBand {
  double tokens_a_turn = 0;
  double still = 0;
  double turned = 0;
};

/// What a sum by dimension is held against: nothing, the mean over the keys that the query may see,
/// or the key with the largest weight beside this one.
enum class Against : std::uint8_t { kRaw, kMean, kRunner };

struct Why {
  Place place;
  std::int64_t query = 0, key = 0;
  bool visible = false;  // false: the mask hides the key; its weight is 0
  double score = 0, lse = 0, weight = 0;
  std::int64_t rank = 0, of = 0;
  Sum sum = {};  // content, position, soft cap, bias, slope: to the score
  double scale = 1, softcap = 0;
  std::vector<double> q = {}, k = {}, mean_key = {}, runner_key = {};  // as scored
  Sum raw = {}, against_mean = {}, against_runner = {};  // by dimension, before soft cap and bias
  std::optional<std::int64_t> runner = {};
  std::vector<WhyKey> keys = {};  // the largest weights of the row
  std::int64_t rest_count = 0;
  double rest_weight = 0;
  std::vector<WhyBand> bands = {};  // where positions turn queries and keys
  std::vector<double> curve = {};   // the score if this key stood 0, 1, ... tokens back
};

/// `model` (null: not at hand) tells how positions turn. Without it content holds them.
Why why(const Session& session, const LoadedModel* model, const Place& place, std::int64_t query,
        std::int64_t key);

/// How positions turn this attention's rows in a text of `tokens`; none where they do not.
Turns turns_of(const LoadedModel& model, const Place& place, std::int64_t tokens);

}  // namespace heed
