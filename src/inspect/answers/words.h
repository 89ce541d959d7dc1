// Word by word: how likely each token was, the lens, branches, beams.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "inspect/answers/heads.h"
#include "inspect/evidence/branch.h"
#include "inspect/evidence/read_out.h"

namespace heed {

void describe(auto& field, const TokenSurprise& of) {
  HEED_FIELDS(field, of.token, of.chance.probability, of.chance.entropy, of.chance.rank);
}

struct WordsAnswer {
  Stack stack = Stack::kSelf;
  std::vector<TokenSurprise> tokens = {};
  void describe(auto& field) const {
    double nats = 0;
    std::int64_t first_choices = 0;
    for (const TokenSurprise& token : tokens) {
      nats -= std::log(token.chance.probability);
      first_choices += token.chance.rank == 1 ? 1 : 0;
    }
    if (!tokens.empty()) nats /= static_cast<double>(tokens.size());
    HEED_FIELDS(field, stack, tokens);
    field("nats", nats);  // per token
    field("first_choices", first_choices);
  }
};

struct LensCellAnswer {
  LensCell cell = {};
  std::string word = {};
  void describe(auto& field) const {
    field("id", cell.id);
    field("text", token_text(word));
    field("bytes", token_hex(word));
    field("probability", static_cast<float>(cell.probability));
    HEED_FIELDS(field, cell.came, cell.rank);
  }
};

struct LensLevelAnswer {
  std::string name = {};  // embedding, attention, cross, layer
  std::optional<std::int64_t> layer = {};
  std::int64_t right = 0, of = 0;
  std::vector<LensCellAnswer> cells = {};
  std::vector<std::int64_t> ranks = {};
  std::vector<double> chances = {};
  void describe(auto& field) const {
    HEED_FIELDS(field, name, layer, right, of, cells, ranks, chances);
  }
};

struct LensAnswer {
  Stack stack = Stack::kSelf;
  std::int64_t begin = 0, end = 0;
  std::vector<LensLevelAnswer> levels = {};
  std::vector<WordAnswer> answers = {};
  bool has_blocks = false, judged_all = false;
  std::optional<double> difference = {};  // last level against the pass itself, in probability
  void describe(auto& field) const {
    HEED_FIELDS(field, stack, begin, end, levels, answers, has_blocks, judged_all, difference);
  }
};

/// One line of a branch's answer, sent while it is generated.
struct BranchTokenAnswer {
  TokenId id = 0;
  std::string word = {};
  double probability = 0;
  void describe(auto& field) const {
    field("id", id);
    field("text", token_text(word));
    field("bytes", token_hex(word));
    field("probability", probability);
  }
};

/// Its last line.
struct BranchEndAnswer {
  std::string ended = {};
  std::int64_t tokens = 0;
  double bits = 0;
  void describe(auto& field) const { HEED_FIELDS(field, ended, tokens, bits); }
};

struct HypothesisAnswer {
  double score = 0, log_probability = 0;
  std::string stopped = {};
  std::int64_t shared = 0;  // how many of its first tokens a better text has too
  std::vector<BranchTokenAnswer> tokens = {};
  void describe(auto& field) const {
    HEED_FIELDS(field, score, log_probability, stopped, shared, tokens);
  }
};

struct BeamsAnswer {
  std::int64_t beams = 0;
  double length_penalty = 0;
  std::vector<HypothesisAnswer> hypotheses = {};
  void describe(auto& field) const { HEED_FIELDS(field, beams, length_penalty, hypotheses); }
};

}  // namespace heed
