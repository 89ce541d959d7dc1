// A model that counts its passes, which a test can hold, and its tokenizer's calls.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "heed/model.h"
#include "models/parts.h"

namespace heed::test {

class CountingModel final : public Model {
 public:
  CountingModel(std::unique_ptr<Model> model, std::atomic<int>& passes,
                const std::atomic<bool>& held)
      : model_(std::move(model)), passes_(passes), held_(held) {}
  const ModelInfo& info() const override { return model_->info(); }
  Tensor forward(const Batch& batch, Run& run) const override {
    ++passes_;
    held_.wait(true);
    return model_->forward(batch, run);
  }
  void backward(const Tensor& dlogits, const Batch& batch, Run& run,
                Gradients& gradients) const override {
    model_->backward(dlogits, batch, run, gradients);
  }
  std::vector<Parameter*> parameters() override { return model_->parameters(); }
  ModelParts parts() const override { return model_->parts(); }
  std::string config_json() const override { return model_->config_json(); }

 private:
  std::unique_ptr<Model> model_;
  std::atomic<int>& passes_;
  const std::atomic<bool>& held_;
};

class CountingTokenizer final : public Tokenizer {
 public:
  CountingTokenizer(std::unique_ptr<Tokenizer> tokenizer, std::atomic<int>& calls)
      : tokenizer_(std::move(tokenizer)), calls_(calls) {}
  std::int64_t vocabulary_size() const override { return tokenizer_->vocabulary_size(); }
  Encoding encode(std::string_view text, bool add_special) const override {
    ++calls_;
    return tokenizer_->encode(text, add_special);
  }
  Encoding encode_pair(std::string_view first, std::string_view second,
                       bool add_special) const override {
    ++calls_;
    return tokenizer_->encode_pair(first, second, add_special);
  }
  std::string decode(std::span<const TokenId> ids, bool skip_special) const override {
    return tokenizer_->decode(ids, skip_special);
  }
  std::string token_bytes(TokenId id) const override { return tokenizer_->token_bytes(id); }
  std::string piece(TokenId id) const override { return tokenizer_->piece(id); }
  bool is_special(TokenId id) const override { return tokenizer_->is_special(id); }
  TokenId find(std::string_view piece) const override { return tokenizer_->find(piece); }
  std::string to_json() const override { return tokenizer_->to_json(); }

 private:
  std::unique_ptr<Tokenizer> tokenizer_;
  std::atomic<int>& calls_;
};

/// While it lives, passes wait.
class HeldPasses {
 public:
  explicit HeldPasses(std::atomic<bool>& held) : held_(held) { held_ = true; }
  ~HeldPasses() {
    held_ = false;
    held_.notify_all();
  }
  HeldPasses(const HeldPasses&) = delete;
  HeldPasses& operator=(const HeldPasses&) = delete;

 private:
  std::atomic<bool>& held_;
};

class Counted {
  std::atomic<int> passes_ = 0;
  std::atomic<bool> held_ = false;
  std::atomic<int> encodings_ = 0;

 public:
  explicit Counted(LoadedModel counted) : model(std::move(counted)) {
    model.model = std::make_unique<CountingModel>(std::move(model.model), passes_, held_);
    model.tokenizer = std::make_unique<CountingTokenizer>(std::move(model.tokenizer), encodings_);
  }
  int passes() const { return passes_; }
  HeldPasses hold() { return HeldPasses(held_); }
  int encodings() const { return encodings_; }

  LoadedModel model;
};

}  // namespace heed::test
