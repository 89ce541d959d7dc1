// Settings that change how a step is computed but not its result: bf16 products, recomputed
// activations.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "heed/model.h"
#include "ops/matmul.h"
#include "support/expect_error.h"
#include "train/initial_weights.h"
#include "train/passes.h"
#include "train/task.h"
#include "train/task_run.h"
#include "train/text_data.h"

namespace heed {
namespace {

using test::loss_rows;

class Precision : public test::TaskRun {};

TEST_F(Precision, LossesInBf16AreCloseToThoseInF32) {
  config_.steps = 60;
  config_.width = 64;
  const TrainResult whole = run("f32");
  config_.precision = "bf16";
  const TrainResult rounded = run("bf16");
  EXPECT_NEAR(rounded.loss, whole.loss, 0.02 * whole.loss);
  EXPECT_NEAR(rounded.validation_loss.value_or(0), whole.validation_loss.value_or(9),
              0.02 * whole.loss);
  EXPECT_EQ(loss_rows(scratch_ / "bf16") != loss_rows(scratch_ / "f32"), bf16_pays());
}

// Every operand of a product is off by at most 2^-9 of itself; two layers and back add up.
TEST_F(Precision, GradientsInBf16AreThoseInF32WithinRounding) {
  constexpr double kMost = 0.02;
  config_.width = 64;
  const auto task = make_lm_task(config_, load_text_data(config_));
  const auto model = new_model(config_, task->shape());
  const std::vector<Parameter*> parameters = model->parameters();
  Gradients whole;
  Gradients rounded;
  const double loss = Passes(config_, *task, *model, parameters, whole).loss_and_gradients(0);
  TrainConfig in_bf16 = config_;
  in_bf16.precision = "bf16";
  const double other = Passes(in_bf16, *task, *model, parameters, rounded).loss_and_gradients(0);
  EXPECT_NEAR(other, loss, 1e-3 * loss);
  for (const Parameter* parameter : parameters) {
    Tensor difference = rounded.of(*parameter).clone();
    for (std::int64_t i = 0; i < difference.element_count(); ++i)
      difference.data<float>()[i] -= whole.of(*parameter).data<float>()[i];
    EXPECT_LE(std::sqrt(sum_of_squares(difference)),
              kMost * std::sqrt(sum_of_squares(whole.of(*parameter))) + 1e-6)
        << parameter->name;
  }
}

TEST_F(Precision, ARunInBf16Resumes) {
  config_.precision = "bf16";
  expect_the_same_resumed();
  config_.precision = "f32";
  EXPECT_HEED_ERROR(run("parts", /*resume=*/true), ErrorCode::kInvalidArgument,
                    "train: precision is \"f32\", expected \"bf16\" as in the run to resume");
}

TEST_F(Precision, IsTheProductsAlone) {
  config_.precision = "bf16";
  config_.validation = 0;
  const LoadedModel model = load_model(run("a").model);
  const auto parameters = model.model->parameters();
  bool finer = false;  // than bf16: weights are f32
  for (std::int64_t i = 0; i < parameters[0]->value.element_count(); ++i) {
    const float value = parameters[0]->value.data<float>()[i];
    finer |= static_cast<float>(bf16(value)) != value;
  }
  EXPECT_TRUE(finer);
  config_.precision = "f16";
  EXPECT_HEED_ERROR(run("b"), ErrorCode::kInvalidArgument,
                    "train: precision is \"f16\", expected f32 or bf16");
}

class Recomputed : public test::TaskRun {
 protected:
  void expect_the_same_losses(const std::string& name) {
    config_.steps = 8;
    config_.evaluate_every = 4;
    config_.recompute = "none";
    run(name);
    for (const char* policy : {"attention", "block"}) {
      config_.recompute = policy;
      run(name + policy);
      EXPECT_EQ(loss_rows(scratch_ / (name + policy)), loss_rows(scratch_ / name))
          << name << policy;
    }
  }

  // Bytes that a pass of the family keeps for its backward pass.
  std::int64_t kept_bytes(const Model& model, Recompute recompute) {
    const std::vector<std::int32_t> ids(64, 3);
    Saved saved;
    heed::Run pass{.saved = &saved, .recompute = recompute};
    model.forward({.ids = ConstView(ids.data(), DType::kI32, {2, 32})}, pass);
    return saved.bytes();
  }
};

TEST_F(Recomputed, ActivationsGiveTheSameLossesToTheLastDigit) {
  config_.dropout = 0.1;
  config_.attention_dropout = 0.1;
  expect_the_same_losses("gpt2");
  config_.dropout = 0;
  config_.model = R"({"model_type": "qwen3"})";
  expect_the_same_losses("qwen3");
  config_.model = R"({"model_type": "gemma2"})";
  config_.attention_dropout = 0;
  expect_the_same_losses("gemma2");
}

TEST_F(Recomputed, SoTheyDoForEveryTask) {
  const TrainConfig usual = config_;
  mask();
  expect_the_same_losses("bert");
  config_ = usual;
  translate();
  for (const char* family : {"marian", "t5"}) {
    config_.model = fmt::format(R"({{"model_type": "{}"}})", family);
    config_.dropout = std::string(family) == "t5" ? 0 : 0.1;
    config_.attention_dropout = config_.dropout;
    expect_the_same_losses(family);
  }
  config_ = usual;
  label_texts();
  expect_the_same_losses("texts");
}

TEST_F(Recomputed, ActivationsTakeNoMemoryMeanwhile) {
  constexpr char kShape[] =
      R"({"model_type": "gpt2", "n_layer": 4, "n_head": 2, "n_embd": 32, "n_positions": 32,
          "vocab_size": 40})";
  const auto model = make_model(kShape, 1);
  const std::int64_t all = kept_bytes(*model, Recompute::kNothing);
  const std::int64_t without_attention = kept_bytes(*model, Recompute::kAttention);
  const std::int64_t inputs = kept_bytes(*model, Recompute::kBlocks);
  EXPECT_LT(4 * without_attention, 3 * all);
  // The input of each branch, of the last norm and of the head.
  const std::int64_t stream = 64 * 32 * std::int64_t{sizeof(float)};
  EXPECT_EQ(inputs, (4 * 2 + 2) * stream);
}

TEST_F(Recomputed, ThePolicyMayChangeInAResumedRun) {
  run("whole");
  run_until(13, "parts");
  config_.recompute = "block";
  run("parts", /*resume=*/true);
  EXPECT_EQ(loss_rows(scratch_ / "parts"), loss_rows(scratch_ / "whole"));
}

}  // namespace
}  // namespace heed
