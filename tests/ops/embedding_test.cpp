#include "ops/embedding.h"

#include <gtest/gtest.h>

#include "heed/threads.h"
#include "support/expect_error.h"
#include "support/finite_differences.h"
#include "support/random_tensor.h"

namespace heed {

using test::largest_difference;
using test::random_ids;
using test::random_tensor;

TEST(Embedding, GathersRows) {
  const Tensor table = random_tensor({7, 5}, 1);
  const Tensor ids = random_ids({3, 300}, 7, 2);
  const Tensor rows = embedding(table, ids);
  ASSERT_EQ(rows.shape(), (Shape{3, 300, 5}));
  for (int i = 0; i < 900; ++i) {
    const std::int64_t id = ids.data<std::int32_t>()[i];
    for (int c = 0; c < 5; ++c)
      EXPECT_EQ(rows.data<float>()[i * 5 + c], table.data<float>()[id * 5 + c]);
  }
}

TEST(Embedding, NarrowRowsAreWidened) {
  const Tensor ids = random_ids({3, 4}, 7, 2);
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const Tensor table = Tensor::converted(random_tensor({7, 5}, 1), dtype);
    const Tensor rows = embedding(table, ids);
    EXPECT_EQ(rows.dtype(), DType::kF32);
    EXPECT_TRUE(test::same_bits(rows, embedding(Tensor::converted(table, DType::kF32), ids)));
  }
}

TEST(Embedding, RepeatedIdsAddUp) {
  Tensor ids = Tensor::zeros({3}, DType::kI32);
  ids.data<std::int32_t>()[1] = 2;
  Tensor dy = Tensor::zeros({3, 1});
  for (int i = 0; i < 3; ++i) dy.data<float>()[i] = static_cast<float>(1 << i);  // 1, 2, 4
  Tensor dtable = Tensor::zeros({4, 1});
  embedding_backward(ids, dy, dtable);
  EXPECT_EQ(dtable.data<float>()[0], 5);
  EXPECT_EQ(dtable.data<float>()[2], 2);
  EXPECT_EQ(dtable.data<float>()[3], 0);
}

TEST(Embedding, GradientAgreesWithTheReferenceAndDifferences) {
  Tensor table = random_tensor({11, 100}, 1, DType::kF64);
  const Tensor ids = random_ids({40}, 11, 2);
  const Tensor dy = random_tensor({40, 100}, 3, DType::kF64);
  Tensor slow = Tensor::zeros({11, 100}, DType::kF64);
  embedding_backward(ids, dy, slow);
  test::expect_gradient(table, slow, [&] { return test::weighted_sum(embedding(table, ids), dy); });
  Tensor fast = Tensor::zeros({11, 100});
  embedding_backward(ids, Tensor::converted(dy, DType::kF32), fast);
  EXPECT_LE(largest_difference(fast, slow), 1e-5);
}

TEST(Embedding, GradientDoesNotDependOnThreads) {
  const Tensor ids = random_ids({500}, 11, 2);
  const Tensor dy = random_tensor({500, 200}, 3);
  Tensor one = Tensor::zeros({11, 200});
  Tensor three = Tensor::zeros({11, 200});
  set_thread_count(1);
  embedding_backward(ids, dy, one);
  set_thread_count(3);
  embedding_backward(ids, dy, three);
  set_thread_count(0);
  EXPECT_TRUE(test::same_bits(one, three));
}

TEST(Embedding, AnIdOutsideOfTheVocabularyIsNamed) {
  const Tensor table = Tensor::zeros({4, 2});
  Tensor ids = Tensor::zeros({2, 2}, DType::kI32);
  ids.data<std::int32_t>()[3] = 4;
  EXPECT_HEED_ERROR(embedding(table, ids), ErrorCode::kInvalidArgument,
                    "embedding: ids[3] is 4, expected 0 to 3");
  ids.data<std::int32_t>()[3] = -1;
  EXPECT_HEED_ERROR(embedding(table, ids), ErrorCode::kInvalidArgument,
                    "embedding: ids[3] is -1, expected 0 to 3");
}

}  // namespace heed
