// The built-in decoder knows English. What its heads do, and its losses, are checked against its
// card by tools/card_figures.py (models.card.tales), as those of the other built-in models.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "heed/inspect/session.h"
#include "inspect/tales.h"
#include "ops/loss.h"

namespace heed {
namespace {

using test::tales;

// Mean -log p of each next token, in nats.
double loss_of(const std::string& text) {
  const Session session = open_session(tales(), text, {.all_logits = true});
  std::vector<std::int32_t> targets;
  for (std::size_t i = 1; i < session.tokens.size(); ++i) targets.push_back(session.tokens[i].id);
  targets.push_back(kIgnoredTarget);
  return cross_entropy({.logits = session.logits,
                        .targets = ConstView(targets.data(), DType::kI32,
                                             {static_cast<std::int64_t>(targets.size())})})
      .mean;
}

TEST(BuiltIn, PrefersASentenceToItsWordsInReverse) {
  const double sentence = loss_of(
      "Alice was beginning to get very tired of sitting by her sister on the bank, and of having "
      "nothing to do.");
  EXPECT_LT(sentence, 4);
  EXPECT_GT(loss_of("do nothing having of and bank the on sister her by sitting of tired very get "
                    "to beginning was Alice."),
            sentence + 2);
}

}  // namespace
}  // namespace heed
