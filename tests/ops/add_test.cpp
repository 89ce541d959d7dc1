#include <gtest/gtest.h>

#include "heed/threads.h"
#include "ops/elementwise.h"
#include "support/expect_error.h"
#include "support/random_tensor.h"

namespace heed {

using test::largest_difference;
using test::random_tensor;

TEST(Add, KeepsTheSecondOperand) {
  const Tensor x = random_tensor({70001}, 1);
  const Tensor y = random_tensor({70001}, 2);
  const Tensor sum = add(y.clone(), x);
  for (const int i : {0, 1, 40000, 70000})
    EXPECT_EQ(sum.data<float>()[i], x.data<float>()[i] + y.data<float>()[i]);
}

TEST(Add, ColumnSumsAgreeWithF64) {
  for (const auto& [rows, columns] :
       {std::pair(0, 5), std::pair(1, 1), std::pair(300, 65), std::pair(77, 200)}) {
    Tensor fast = random_tensor({columns}, 1);
    Tensor slow = Tensor::converted(fast, DType::kF64);
    const Tensor x = random_tensor({rows, columns}, 2);
    add_column_sums(fast, x);
    add_column_sums(slow, Tensor::converted(x, DType::kF64));
    EXPECT_LE(largest_difference(fast, slow), 2e-5) << rows << " x " << columns;
  }
}

TEST(Add, ColumnSumsDoNotDependOnThreads) {
  const Tensor x = random_tensor({500, 200}, 1);
  Tensor one = Tensor::zeros({200});
  Tensor three = Tensor::zeros({200});
  set_thread_count(1);
  add_column_sums(one, x);
  set_thread_count(3);
  add_column_sums(three, x);
  set_thread_count(0);
  EXPECT_TRUE(test::same_bits(one, three));
}

TEST(Add, SaysWhatDoesNotFit) {
  Tensor y = Tensor::zeros({2, 3});
  EXPECT_HEED_ERROR(add_to(y, Tensor::zeros({3, 2})), ErrorCode::kInvalidArgument,
                    "add: y.shape is [2, 3], expected [3, 2] (x's)");
}

}  // namespace heed
