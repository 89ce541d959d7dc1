#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/atomic_file.h"
#include "io/tensor_files.h"
#include "support/expect_error.h"
#include "support/scratch.h"
#include "support/shared_data.h"

namespace heed {
namespace {

using testing::ElementsAre;

void write_one(const std::filesystem::path& path, const std::string& name) {
  const Tensor tensor = Tensor::zeros({2, 3});
  write_safetensors(path, std::vector<NamedView>{{name, tensor}});
}

TEST(Weights, AMismatchNamesFileTensorAndShapes) {
  const test::Scratch scratch;
  write_one(scratch / "model.safetensors", "h.0.attn.c_attn.weight");
  const Weights weights = Weights::open(scratch.folder());
  EXPECT_HEED_ERROR(weights.load_f32("h.0.attn.c_attn.weight", {3, 2}), ErrorCode::kCorrupt,
                    (scratch / "model.safetensors").string() +
                        ": h.0.attn.c_attn.weight.shape is [2, 3], expected [3, 2]");
}

TEST(Weights, WholeNumbersAreNotLoadedAsF32) {
  const test::Scratch scratch;
  const Tensor tensor = Tensor::zeros({2}, DType::kI64);
  write_safetensors(scratch / "model.safetensors", std::vector<NamedView>{{"w", tensor}});
  EXPECT_HEED_ERROR(Weights::open(scratch.folder()).load_f32("w", {2}), ErrorCode::kCorrupt,
                    (scratch / "model.safetensors").string() +
                        ": w.dtype is i64, expected f32, f16, bf16 or f64");
}

TEST(Weights, SixteenBitTensorsAreConverted) {
  const test::Scratch scratch;
  Tensor tensor = Tensor::zeros({2}, DType::kBF16);
  tensor.data<bf16>()[0] = bf16(-2.5F);
  write_safetensors(scratch / "model.safetensors", std::vector<NamedView>{{"w", tensor}});
  EXPECT_EQ(Weights::open(scratch.folder()).load_f32("w", {2}).data<float>()[0], -2.5F);
}

TEST(Weights, AreMappedInTheirOwnTypeAndOutliveTheFile) {
  const test::Scratch scratch;
  Tensor tensor = Tensor::zeros({2}, DType::kBF16);
  tensor.data<bf16>()[0] = bf16(-2.5F);
  write_safetensors(scratch / "model.safetensors", std::vector<NamedView>{{"w", tensor}});
  const Tensor mapped = Weights::open(scratch.folder()).mapped("w", {2});
  std::filesystem::remove(scratch / "model.safetensors");
  ASSERT_EQ(mapped.dtype(), DType::kBF16);
  EXPECT_EQ(static_cast<float>(mapped.data<bf16>()[0]), -2.5F);
}

TEST(Weights, ShardsAreOneModel) {
  const test::Scratch scratch;
  write_one(scratch / "one.safetensors", "a");
  write_one(scratch / "two.safetensors", "b");
  write_file(scratch / "model.safetensors.index.json",
             R"({"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}})");
  const Weights weights = Weights::open(scratch.folder());
  EXPECT_THAT(weights.names(), ElementsAre("a", "b"));
  EXPECT_EQ(weights.load_f32("b", {2, 3}).shape(), (Shape{2, 3}));
  EXPECT_HEED_ERROR(weights.tensor("c"), ErrorCode::kNotFound,
                    scratch.folder().string() + ": none of the 2 shards holds tensor 'c'");
}

TEST(Weights, AnIndexThatLiesIsAnError) {
  const test::Scratch scratch;
  const auto index = scratch / "model.safetensors.index.json";
  write_one(scratch / "one.safetensors", "a");
  write_file(index, R"({"weight_map": {"a": "one.safetensors", "b": "one.safetensors"}})");
  const Weights weights = Weights::open(scratch.folder());  // a model may not need it
  EXPECT_TRUE(weights.contains("a"));
  EXPECT_FALSE(weights.contains("b"));
  EXPECT_HEED_ERROR(
      weights.tensor("b"), ErrorCode::kCorrupt,
      index.string() + ": says that tensor 'b' is in one.safetensors, which does not hold it");
  write_file(index, R"({"weight_map": {"a": "../one.safetensors"}})");
  EXPECT_HEED_ERROR(Weights::open(scratch.folder()), ErrorCode::kCorrupt,
                    index.string() +
                        ": line 1, column 22: weight_map.a is \"../one.safetensors\", expected the "
                        "name of a file in the same folder");
  write_file(index, "{}");
  EXPECT_HEED_ERROR(
      Weights::open(scratch.folder()), ErrorCode::kCorrupt,
      index.string() + ": weight_map is not given, expected an object of tensors and their files");
}

TEST(Weights, AnAliasOfATensorIsReadByBothNames) {
  const test::Scratch scratch;
  const Tensor numbers = Tensor::zeros({2, 3});
  write_safetensors(scratch / "model.safetensors", std::vector<NamedView>{{"kept", numbers}},
                    {{"removed", "kept"}, {"kept", "gone"}, {"format", "pt"}});
  const Weights weights = Weights::open(scratch.folder());
  EXPECT_THAT(weights.names(), ElementsAre("kept"));
  EXPECT_TRUE(weights.contains("removed"));
  EXPECT_EQ(weights.stored_name("removed"), "kept");
  EXPECT_EQ(weights.tensor("removed").raw(), weights.tensor("kept").raw());
  EXPECT_EQ(weights.load_f32("removed", {2, 3}).shape(), (Shape{2, 3}));
  EXPECT_EQ(weights.mapped("removed", {2, 3}).shape(), (Shape{2, 3}));
  weights.release("removed");
  EXPECT_FALSE(weights.contains("format"));
}

TEST(Weights, AFolderWithoutWeightsIsNamed) {
  const test::Scratch scratch;
  EXPECT_HEED_ERROR(Weights::open(scratch.folder()), ErrorCode::kNotFound,
                    scratch.folder().string() +
                        ": has neither model.safetensors nor model.safetensors.index.json");
}

TEST(Weights, AnIndexThatNamesAMissingFileIsAnError) {
  const test::Scratch scratch;
  write_file(scratch / "model.safetensors.index.json",
             R"({"weight_map": {"a": "gone.safetensors"}})");
  EXPECT_HEED_ERROR(
      Weights::open(scratch.folder()), ErrorCode::kNotFound,
      (scratch / "gone.safetensors").string() + ": cannot be opened: No such file or directory");
}

TEST(Weights, PickledWeightsAloneAreRefusedWithTheLineThatConvertsThem) {
  const test::Scratch scratch;
  write_file(scratch / "pytorch_model.bin", "PK");
  const std::string folder = scratch.folder().string();
  EXPECT_HEED_ERROR(
      Weights::open(scratch.folder()), ErrorCode::kUnsupported,
      folder +
          ": has its weights in pytorch_model.bin alone, expected model.safetensors; this writes "
          "it: python3 -c \"import glob, torch, safetensors.torch as s; s.save_file({k: "
          "v.contiguous().clone() for f in glob.glob('" +
          folder +
          "/pytorch_model*.bin') for k, v in torch.load(f, weights_only=True).items()}, '" +
          folder + "/model.safetensors', {'format': 'pt'})\"");
}

TEST(Weights, OpensTheSharedShardedModel) {
  HEED_NEEDS_SHARED("models/tiny/llama-sharded");
  const Weights weights = Weights::open(test::shared_data() / "models/tiny/llama-sharded");
  EXPECT_TRUE(weights.contains("lm_head.weight"));
  EXPECT_TRUE(weights.contains("model.embed_tokens.weight"));
}

TEST(Weights, ASixteenBitModelEqualsItsRoundedTwin) {
  HEED_NEEDS_SHARED("models/tiny/llama-bf16");
  const auto folder = test::shared_data() / "models/tiny";
  const Weights narrow = Weights::open(folder / "llama-bf16");
  for (const std::string& name : narrow.names()) {
    const ConstView stored = narrow.tensor(name);
    ASSERT_EQ(stored.dtype(), DType::kBF16);
    const Tensor wide = narrow.load_f32(name, stored.shape());
    for (std::int64_t i = 0; i < wide.element_count(); ++i)
      ASSERT_EQ(bf16(wide.data<float>()[i]).bits, stored.data<bf16>()[i].bits) << name;
  }
}

}  // namespace
}  // namespace heed
