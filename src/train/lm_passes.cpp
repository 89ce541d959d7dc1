#include "train/lm_passes.h"

#include <algorithm>
#include <chrono>

#include "base/parallel.h"
#include "heed/base/threads.h"
#include "heed/models/registry.h"
#include "ops/loss.h"

namespace heed {
namespace {

std::int64_t size_of(std::span<const TokenId> tokens) {
  return static_cast<std::int64_t>(tokens.size());
}

double now_seconds() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

// Six sequences of 64 tokens. Measured on two quiet cores (4 layers, width 128, 12 sequences of
// 64): pieces of 64, 128, 192 and 384 tokens gave 45, 51, 54 and 55 thousand tokens a second:
// larger products run nearer to the peak, and that outweighs the second-level cache.
constexpr std::int64_t kPieceTokens = 384;

std::int64_t piece_rows(const TrainConfig& config) {
  return std::clamp<std::int64_t>(kPieceTokens / config.block, 1, config.batch);
}

std::int64_t step_piece_rows(const TrainConfig& config, std::int64_t shares) {
  return shares == 1 && thread_count() > 1 ? config.batch : piece_rows(config);
}

}  // namespace

std::string model_config_json(const TrainConfig& config, std::int64_t vocabulary,
                              TokenId separator) {
  std::vector<std::int64_t> end;
  if (separator >= 0) end = {separator};
  return training_config({.vocabulary = vocabulary,
                          .positions = config.block,
                          .layers = config.layers,
                          .heads = config.heads,
                          .width = config.width,
                          .dropout = config.dropout,
                          .end_tokens = end},
                         config.model);
}

LmPasses::LmPasses(const TrainConfig& config, const TextData& data, const Model& model,
                   std::span<Parameter* const> parameters, Gradients& gradients)
    : config_(config),
      data_(data),
      model_(model),
      step_rows_(config.batch * config.accumulate),
      gradients_(parameters, gradients, share_count(parameters, step_rows_)),
      piece_rows_(step_piece_rows(config, gradients_.count())),
      shares_(static_cast<std::size_t>(gradients_.count())) {
  for (int thread = 0; thread < thread_count(); ++thread)
    batches_.emplace_back(piece_rows_, config.block);
}

double LmPasses::loss_and_gradients(std::int64_t step) {
  parallel_for(gradients_.count(), static_cast<int>(std::ssize(batches_)),
               [&](std::int64_t share, int thread) {
                 share_of_step(step, share, batches_[static_cast<std::size_t>(thread)]);
               });
  gradients_.add_up();
  double sum = 0;
  for (const Share& share : shares_) sum += share.loss;
  return sum / static_cast<double>(step_rows_);
}

LmPasses::Seconds LmPasses::seconds() const {
  Seconds sum;
  for (const Share& share : shares_) {
    sum.forward += share.seconds.forward;
    sum.backward += share.seconds.backward;
  }
  return sum;
}

void LmPasses::share_of_step(std::int64_t step, std::int64_t index, CropBatch& batch) {
  Share& share = shares_[static_cast<std::size_t>(index)];
  Gradients& gradients = gradients_.of(index);
  gradients.clear();
  share.loss = 0;
  const std::int64_t end = (index + 1) * step_rows_ / gradients_.count();
  for (std::int64_t row = index * step_rows_ / gradients_.count(); row < end;) {
    Piece piece{.pass = row / config_.batch, .first_row = row % config_.batch};
    piece.rows = std::min({piece_rows_, end - row, config_.batch - piece.first_row});
    share.loss += forward_backward(step, piece, batch, gradients, share.seconds);
    row += piece.rows;
  }
}

void LmPasses::fill(CropBatch& batch, std::int64_t step, const Piece& piece) const {
  const auto seed = static_cast<std::uint64_t>(config_.seed);
  for (std::int64_t row = 0; row < piece.rows; ++row) {
    const std::int64_t crop =
        (step * config_.accumulate + piece.pass) * config_.batch + piece.first_row + row;
    const std::int64_t begin = random_crop(seed, crop, size_of(data_.train), config_.block);
    if (const auto period = repeat_period(seed, crop, config_.repeats, config_.block))
      batch.put_repeated(row, data_.train, begin, *period);
    else
      batch.put(row, data_.train, begin);
  }
}

double LmPasses::forward_backward(std::int64_t step, const Piece& piece, CropBatch& batch,
                                  Gradients& gradients, Seconds& seconds) const {
  const double begin = now_seconds();
  fill(batch, step, piece);
  const auto rows = static_cast<double>(piece.rows);
  const ConstView ids = batch.ids.view().slice(0, 0, piece.rows);
  Saved saved;
  Run run{.saved = &saved,
          .first_row = piece.first_row,
          .in_bulk = piece.rows * config_.block >= kBulkRows};
  if (config_.dropout > 0)
    run.dropout_seed = dropout_seed(static_cast<std::uint64_t>(config_.seed),
                                    step * config_.accumulate + piece.pass);
  Tensor logits = model_.forward({ids}, run);
  const double loss = cross_entropy({.logits = logits,
                                     .targets = batch.targets.view().slice(0, 0, piece.rows),
                                     .dlogits = logits,  // in place
                                     .gradient_scale = rows / static_cast<double>(step_rows_)})
                          .mean;
  const double middle = now_seconds();
  model_.backward(logits, {ids}, run, gradients);
  seconds.forward += middle - begin;
  seconds.backward += now_seconds() - middle;
  return rows * loss;
}

std::optional<double> LmPasses::evaluate() {
  if (config_.validation == 0) return std::nullopt;
  const std::int64_t all = (size_of(data_.validation) - 1) / config_.block;  // without overlap
  const std::int64_t asked = config_.evaluate_batches * config_.batch;
  const std::int64_t crops = asked == 0 ? all : std::min(asked, all);
  const std::int64_t piece = piece_rows(config_);
  std::vector<double> losses(static_cast<std::size_t>((crops + piece - 1) / piece));
  parallel_for(std::ssize(losses), static_cast<int>(std::ssize(batches_)),
               [&](std::int64_t index, int thread) {
                 const std::int64_t first = index * piece;
                 losses[static_cast<std::size_t>(index)] =
                     evaluate_rows(first, std::min(piece, crops - first), crops,
                                   batches_[static_cast<std::size_t>(thread)]);
               });
  double sum = 0;
  for (const double loss : losses) sum += loss;
  return sum / static_cast<double>(crops);
}

double LmPasses::evaluate_rows(std::int64_t first, std::int64_t rows, std::int64_t crops,
                               CropBatch& batch) const {
  const std::int64_t tokens = size_of(data_.validation);
  for (std::int64_t row = 0; row < rows; ++row)
    batch.put(row, data_.validation, even_crop(first + row, crops, tokens, config_.block));
  Run run{.in_bulk = rows * config_.block >= kBulkRows};
  const Tensor logits = model_.forward({batch.ids.view().slice(0, 0, rows)}, run);
  const ConstView targets = batch.targets.view().slice(0, 0, rows);
  return static_cast<double>(rows) * cross_entropy({.logits = logits, .targets = targets}).mean;
}

}  // namespace heed
