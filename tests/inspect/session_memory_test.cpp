// Tests the memory that a session may take, and when weights stay in the file.
#include "inspect/session/session_memory.h"

#include <gtest/gtest.h>

#include "heed/model.h"
#include "support/random_tensor.h"
#include "support/scratch.h"

namespace heed {
namespace {

class StreamedModel : public testing::Test {
 protected:
  StreamedModel() {
    save_model(scratch_.folder(),
               *make_model(R"({"model_type": "gpt2", "n_positions": 32,
      "n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 64})",
                           3),
               nullptr, DType::kF32);
    model_ = load_model(scratch_.folder(), {.packed = true, .streamed = true});
  }
  // The logits of a session of 9 tokens.
  Tensor logits(std::optional<std::int64_t> memory) {
    const Tensor ids = test::random_ids({9}, 64, 1);
    Session session =
        tokenize_session(model_, std::span(ids.data<std::int32_t>(), static_cast<std::size_t>(9)));
    run_session(session, model_, {.memory = memory});
    weights_ = session_memory(session, model_, {}).weights;
    return std::move(session.logits);
  }

  test::Scratch scratch_;
  LoadedModel model_;
  std::int64_t weights_ = 0;  // bytes that are still in the file
};

TEST_F(StreamedModel, IsHeldOnlyWhereThereIsRoom) {
  const Tensor streamed = logits({});
  const std::int64_t weights = weights_;
  ASSERT_GT(weights, 0);
  EXPECT_FALSE(hold_if_room(*model_.model, weights));
  logits({});
  EXPECT_EQ(weights_, weights);
  EXPECT_TRUE(hold_if_room(*model_.model, 2 * weights));
  EXPECT_EQ(test::largest_difference(logits({}), streamed), 0);
  EXPECT_EQ(weights_, 0);
}

TEST_F(StreamedModel, RunsInLessMemoryThanItsWeightsTake) {
  const Tensor free = logits({});
  EXPECT_EQ(test::largest_difference(logits(weights_ - 1), free), 0);
  EXPECT_THROW(logits(1000), TooLittleMemory);
}

}  // namespace
}  // namespace heed
