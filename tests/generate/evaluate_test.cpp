#include "generate/evaluate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "generate/forward.h"
#include "heed/model.h"
#include "support/expect_error.h"
#include "support/random_tensor.h"

namespace heed {
namespace {

std::unique_ptr<Model> tiny_llama() {
  return make_model(R"({"model_type": "llama", "vocab_size": 40, "max_position_embeddings": 600,
    "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2})",
                    3);
}

std::vector<TokenId> ids_of(std::int64_t count) {
  const Tensor ids = test::random_ids({1, count}, 40, 1);
  return {ids.data<TokenId>(), ids.data<TokenId>() + count};
}

// -log p of tokens `first` to `end` in one pass over those from `begin` on.
double direct_loss(const Model& model, const std::vector<TokenId>& ids, std::int64_t begin,
                   std::int64_t first, std::int64_t end) {
  Run run;
  const Tensor logits =
      model.forward({.ids = ConstView(ids.data() + begin, DType::kI32, {1, end - begin})}, run);
  double loss = 0;
  for (std::int64_t at = first; at < end; ++at) {
    const std::span<const float> row = row_of(logits, static_cast<std::size_t>(at - 1 - begin));
    double sum = 0;
    for (const float logit : row) sum += std::exp(static_cast<double>(logit));
    loss += std::log(sum) - row[static_cast<std::size_t>(ids[static_cast<std::size_t>(at)])];
  }
  return loss;
}

TEST(TextLoss, OfOneWindowIsThatOfOnePass) {
  const auto model = tiny_llama();
  for (const std::int64_t count : {2, 255, 256, 257, 258, 600}) {
    const std::vector<TokenId> ids = ids_of(count);
    for (const std::int64_t given : {std::int64_t{1}, count / 2, count})
      EXPECT_NEAR(text_loss(*model, {.ids = ids, .given = given, .context = 600, .stride = 300}),
                  direct_loss(*model, ids, 0, given, count), 1e-5 * static_cast<double>(count))
          << count << " tokens, " << given << " given";
  }
}

TEST(TextLoss, EachTokenCountsInTheFirstWindowThatHoldsIt) {
  const auto model = tiny_llama();
  const std::vector<TokenId> ids = ids_of(50);
  for (const auto& [context, stride] :
       {std::pair<std::int64_t, std::int64_t>{20, 10}, {20, 19}, {7, 1}, {49, 48}, {50, 3}}) {
    double expected = 0;
    for (std::int64_t begin = 0, first = 1; first < 50; begin += stride) {
      const std::int64_t end = std::min<std::int64_t>(begin + context, 50);
      if (end > first) expected += direct_loss(*model, ids, begin, first, end);
      first = std::max(first, end);
    }
    std::vector<std::int64_t> done;
    const double found = text_loss(
        *model, {.ids = ids, .context = context, .stride = stride, .done = [&](std::int64_t n) {
                   done.push_back(n);
                 }});
    EXPECT_NEAR(found, expected, 1e-4) << context << " tokens, " << stride << " apart";
    EXPECT_TRUE(std::ranges::is_sorted(done));
    EXPECT_EQ(done.back(), 49);
  }
}

TEST(TextLoss, SaysWhatDoesNotFit) {
  const auto model = tiny_llama();
  const std::vector<TokenId> ids = ids_of(5);
  const auto refuse = [&](const EvaluateArgs& args, const char* text) {
    EXPECT_HEED_ERROR(text_loss(*model, args), ErrorCode::kInvalidArgument, text);
  };
  refuse({.ids = ids, .context = 601},
         "evaluate: context is 601, expected 2 to 600 (the model's positions)");
  refuse({.ids = ids, .context = 4, .stride = 4},
         "evaluate: stride is 4, expected 1 to 3, less than the context");
  refuse({.ids = ids, .given = 6, .context = 4},
         "evaluate: given is 6, expected 1 to 5 (the tokens)");
  const std::vector<TokenId> outside = {1, 40};
  refuse({.ids = outside, .context = 4},
         "evaluate: ids[1] is 40, expected 0 to 39 (the vocabulary)");
}

}  // namespace
}  // namespace heed
