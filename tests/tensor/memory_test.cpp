#include "tensor/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

#include "heed/tensor.h"

namespace heed {

TEST(TensorMemory, AFreedBlockServesTheNextTensorOfItsSize) {
  const void* const before = [] { return Tensor::empty({1000, 7}).view().raw(); }();
  const std::int64_t taken = tensor_blocks_taken();
  const Tensor again = Tensor::empty({7, 1000});
  EXPECT_EQ(again.view().raw(), before);
  EXPECT_EQ(tensor_blocks_taken(), taken);
}

TEST(TensorMemory, FreedBlocksAreNotKeptWhereTheyAreGivenBack) {
  for (const std::int64_t count : {1000, 1'000'000}) {  // a part of a slab, and alone
    {
      const Tensor freed = Tensor::empty({count});
    }
    free_kept_blocks();
    const std::int64_t taken = tensor_blocks_taken();
    const Tensor again = Tensor::empty({count});
    EXPECT_EQ(tensor_blocks_taken(), taken + 1);
  }
}

TEST(TensorMemory, BlocksOfEverySizeAreAlignedAndApart) {
  std::vector<Tensor> tensors;
  for (std::int64_t count = 1; count < 3'000'000; count = count * 3 + 1) {
    for (int i = 0; i < 3; ++i) {
      Tensor& tensor = tensors.emplace_back(Tensor::empty({count}, DType::kI32));
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.view().raw()) % 64, 0U);
      std::fill_n(tensor.data<std::int32_t>(), count, static_cast<std::int32_t>(tensors.size()));
    }
  }
  std::int32_t expected = 0;
  for (const Tensor& tensor : tensors) {
    ++expected;
    const auto* values = tensor.data<std::int32_t>();
    EXPECT_EQ(std::count(values, values + tensor.element_count(), expected),
              tensor.element_count());
  }
}

TEST(TensorMemory, ATensorOutlivesTheThreadThatMadeIt) {
  Tensor tensor;
  std::thread([&tensor] {
    const Tensor beside = Tensor::zeros({5000});
    tensor = Tensor::empty({5000});
    std::fill_n(tensor.data<float>(), 5000, 3.0F);
  }).join();
  EXPECT_EQ(std::count(tensor.data<float>(), tensor.data<float>() + 5000, 3.0F), 5000);
  std::thread([&tensor] { tensor = Tensor(); }).join();
}

// More than is kept (256 MiB), so that blocks are returned to the system meanwhile.
TEST(TensorMemory, ManySizesComeAndGo) {
  for (std::int64_t megabytes = 1; megabytes < 40; ++megabytes) {
    std::vector<Tensor> some;
    for (int i = 0; i < 3; ++i) some.push_back(Tensor::empty({megabytes, 262'144}));
    some[0].data<float>()[0] = 1;
    some[2].data<float>()[some[2].element_count() - 1] = 1;
  }
}

std::int64_t taken_by_a_round_of(std::int64_t tensors, std::int64_t megabytes) {
  const std::int64_t before = tensor_blocks_taken();
  std::vector<Tensor> round;
  for (std::int64_t i = 0; i < tensors; ++i) round.push_back(Tensor::empty({megabytes, 262'144}));
  return tensor_blocks_taken() - before;
}

TEST(TensorMemory, WhileBlocksAreKeptARoundOfAnySizeTakesNoneAnew) {
  free_kept_blocks();
  const KeepBlocks keep;
  EXPECT_EQ(taken_by_a_round_of(60, 10), 60);  // 600 MB, of which 256 would be kept otherwise
  EXPECT_EQ(taken_by_a_round_of(60, 10), 0);
  EXPECT_EQ(taken_by_a_round_of(2, 100), 2);  // larger than what is kept otherwise
  EXPECT_EQ(taken_by_a_round_of(2, 100), 0);
}

TEST(TensorMemory, KeptBlocksOfOtherSizesGoBeforeTheyAreTooMuch) {
  free_kept_blocks();
  const KeepBlocks keep;
  EXPECT_EQ(taken_by_a_round_of(30, 10), 30);
  EXPECT_EQ(taken_by_a_round_of(25, 11), 25);  // 300 + 275 MB, where tensors took 300 at most
  EXPECT_EQ(taken_by_a_round_of(30, 10), 30);
}

TEST(TensorMemory, BlocksAreKeptNoLongerThanWasAskedFor) {
  free_kept_blocks();
  {
    const KeepBlocks keep;
    taken_by_a_round_of(60, 10);
  }
  EXPECT_EQ(taken_by_a_round_of(60, 10), 60);
  EXPECT_GT(taken_by_a_round_of(60, 10), 0);
}

}  // namespace heed
