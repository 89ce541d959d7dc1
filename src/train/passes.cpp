#include "train/passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/parallel.h"
#include "heed/error.h"
#include "heed/threads.h"
#include "ops/kernels/adamw.h"
#include "ops/kernels/elementwise.h"
#include "ops/loss.h"
#include "train/crops.h"

namespace heed {

double steady_seconds() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}
namespace {

// Larger products run closer to the peak, since weights are packed once per piece, which outweighs
// the L2 cache. Tokens per second on one core of Zen 5, by tokens per piece:
//                                                         256    384    512    768  1,024
//   4 layers, width 128, sequences of 64                       33,400 34,267 34,443 33,799
//   6 layers, width 384, sequences of 256               2,885         2,956  2,976  2,971
//   the same with AVX2                                  1,603         1,623  1,646  1,627
constexpr std::int64_t kPieceTokens = 768;

std::int64_t piece_rows(const TrainConfig& config, const Task& task) {
  return std::clamp<std::int64_t>(kPieceTokens / task.tokens_an_example(), 1, config.batch);
}

std::int64_t step_piece_rows(const TrainConfig& config, const Task& task, std::int64_t shares) {
  return shares == 1 && thread_count() > 1 ? config.batch : piece_rows(config, task);
}

Recompute recompute_of(const TrainConfig& config) {
  if (config.recompute == "none") return Recompute::kNothing;
  return config.recompute == "attention" ? Recompute::kAttention : Recompute::kBlocks;
}

// Answers whose likeliest class is the target; a tie counts as wrong unless the target is the
// first.
std::int64_t count_right(const ConstView& logits, const ConstView& targets) {
  const std::int64_t classes = logits.dim(-1);
  const auto* target = targets.data<std::int32_t>();
  const auto* row = logits.data<float>();
  std::int64_t right = 0;
  for (std::int64_t i = 0; i < targets.element_count(); ++i, row += classes)
    right += target[i] >= 0 && std::max_element(row, row + classes) == row + target[i];
  return right;
}

}  // namespace

Passes::Passes(const TrainConfig& config, const Task& task, const Model& model,
               std::span<Parameter* const> parameters, Gradients& gradients, Peers peers)
    : config_(config),
      task_(task),
      model_(model),
      parameters_(parameters),
      peers_(std::move(peers)),
      step_rows_(config.batch * config.accumulate),
      rows_(peers_.part_of(step_rows_)),
      gradients_(parameters, gradients, share_count(parameters, rows_.count())),
      piece_rows_(step_piece_rows(config, task, gradients_.count())),
      batches_(static_cast<std::size_t>(thread_count())),
      shares_(static_cast<std::size_t>(gradients_.count())) {}

double Passes::loss_and_gradients(std::int64_t step) {
  double own = 0;
  peers_.together([&] { own = own_loss_and_gradients(step); });
  peers_.add_up(parameters_, gradients_.of(0));
  double sum = 0;
  for (const double loss : peers_.gathered(own)) sum += loss;
  return sum / counted_;
}

double Passes::own_loss_and_gradients(std::int64_t step) {
  std::int64_t counted = 0;
  for (std::int64_t row = 0; row < step_rows_; ++row)
    counted += task_.counted(step * step_rows_ + row);
  counted_ = static_cast<double>(std::max<std::int64_t>(1, counted));
  parallel_for(gradients_.count(), static_cast<int>(std::ssize(batches_)),
               [&](std::int64_t share, int thread) {
                 share_of_step(step, share, batches_[static_cast<std::size_t>(thread)]);
               });
  gradients_.add_up();
  double sum = 0;
  for (const Share& share : shares_) sum += share.loss;
  return sum;
}

Passes::Seconds Passes::seconds() const {
  Seconds sum;
  for (const Share& share : shares_) {
    sum.forward += share.seconds.forward;
    sum.backward += share.seconds.backward;
  }
  return sum;
}

void Passes::share_of_step(std::int64_t step, std::int64_t index, ExampleBatch& batch) {
  Share& share = shares_[static_cast<std::size_t>(index)];
  Gradients& gradients = gradients_.of(index);
  gradients.clear();
  share.loss = 0;
  const auto place = [&](std::int64_t at) {
    return rows_.begin + at * rows_.count() / gradients_.count();
  };
  const std::int64_t end = place(index + 1);
  for (std::int64_t row = place(index); row < end;) {
    Piece piece{.pass = row / config_.batch, .first_row = row % config_.batch};
    piece.rows = std::min({piece_rows_, end - row, config_.batch - piece.first_row});
    share.loss += forward_backward(step, piece, batch, gradients, share.seconds);
    row += piece.rows;
  }
}

void Passes::fill(ExampleBatch& batch, std::int64_t step, const Piece& piece) const {
  batch.begin(piece.rows);
  const std::int64_t first =
      (step * config_.accumulate + piece.pass) * config_.batch + piece.first_row;
  for (std::int64_t row = 0; row < piece.rows; ++row) task_.make(first + row, batch.row(row));
  batch.lay_out();
}

double Passes::forward_backward(std::int64_t step, const Piece& piece, ExampleBatch& batch,
                                Gradients& gradients, Seconds& seconds) const {
  const double begin = steady_seconds();
  fill(batch, step, piece);
  const auto counted = static_cast<double>(batch.counted());
  Saved saved;
  Run run{.saved = &saved,
          .recompute = recompute_of(config_),
          .extents = batch.extents(),
          .first_row = piece.first_row,
          .in_bulk = batch.tokens() >= kBulkRows,
          .bf16 = config_.precision == "bf16"};
  if (config_.dropout > 0 || config_.attention_dropout > 0)
    run.dropout_seed = dropout_seed(static_cast<std::uint64_t>(config_.seed),
                                    step * config_.accumulate + piece.pass);
  Tensor logits = model_.forward(batch.batch(), run);
  const double loss = cross_entropy({.logits = logits,
                                     .targets = batch.targets(),
                                     .dlogits = logits,  // in place
                                     .gradient_scale = counted / counted_,
                                     .smoothing = config_.label_smoothing})
                          .mean;
  const double middle = steady_seconds();
  model_.backward(logits, batch.batch(), run, gradients);
  seconds.forward += middle - begin;
  seconds.backward += steady_seconds() - middle;
  return counted * loss;
}

std::optional<Evaluation> Passes::evaluate() {
  const std::int64_t all = task_.validation_examples();
  if (all == 0) return std::nullopt;
  const std::int64_t asked = config_.evaluate_sequences;
  const std::int64_t examples = asked == 0 ? all : std::min(asked, all);
  const std::int64_t piece = piece_rows(config_, task_);
  std::vector<Sums> pieces(static_cast<std::size_t>((examples + piece - 1) / piece));
  peers_.together([&] { evaluate_own(pieces, piece, examples); });
  peers_.exchange(std::span(pieces));
  free_kept_blocks();  // memory of each thread, which a step on all threads does not use
  Sums sum;
  for (const Sums& of_piece : pieces) {
    sum.loss += of_piece.loss;
    sum.right += of_piece.right;
    sum.counted += of_piece.counted;
  }
  const auto counted = static_cast<double>(std::max<std::int64_t>(1, sum.counted));
  return Evaluation{sum.loss / counted, static_cast<double>(sum.right) / counted};
}

void Passes::evaluate_own(std::span<Sums> pieces, std::int64_t piece, std::int64_t examples) {
  const Peers::Part own = peers_.part_of(std::ssize(pieces));
  parallel_for(own.count(), static_cast<int>(std::ssize(batches_)),
               [&](std::int64_t index, int thread) {
                 const std::int64_t first = (own.begin + index) * piece;
                 pieces[static_cast<std::size_t>(own.begin + index)] =
                     evaluate_rows(first, std::min(piece, examples - first), examples,
                                   batches_[static_cast<std::size_t>(thread)]);
               });
}

Passes::Sums Passes::evaluate_rows(std::int64_t first, std::int64_t rows, std::int64_t examples,
                                   ExampleBatch& batch) const {
  batch.begin(rows);
  for (std::int64_t row = 0; row < rows; ++row)
    task_.make_validation(first + row, examples, batch.row(row));
  batch.lay_out();
  Run run{.extents = batch.extents(),
          .in_bulk = batch.tokens() >= kBulkRows,
          .bf16 = config_.precision == "bf16"};
  const Tensor logits = model_.forward(batch.batch(), run);
  const CrossEntropy loss = cross_entropy({.logits = logits, .targets = batch.targets()});
  return {.loss = static_cast<double>(loss.counted) * loss.mean,
          .right = task_.has_accuracy() ? count_right(logits, batch.targets()) : 0,
          .counted = loss.counted};
}

namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;
constexpr std::int64_t kShareElements = 32768;  // two arrays of this size fit in a 512 KiB cache

}  // namespace

std::int64_t share_count(std::span<Parameter* const> parameters, std::int64_t rows) {
  const std::int64_t threads = thread_count();
  std::int64_t bytes = 0;
  for (const Parameter* parameter : parameters)
    bytes += parameter->value.element_count() * std::int64_t{sizeof(float)};
  const std::int64_t longest = (rows + threads - 1) / threads;  // rows in the largest share
  const bool idle = 4 * rows < 3 * longest * threads;
  return idle || (threads - 1) * bytes > kMostBytes ? 1 : threads;
}

GradientShares::GradientShares(std::span<Parameter* const> parameters, Gradients& whole,
                               std::int64_t count)
    : whole_(whole),
      others_(static_cast<std::size_t>(count - 1)),
      values_(static_cast<std::size_t>(count - 1)) {
  for (std::size_t index = 0; index < parameters.size(); ++index) {
    float* const sum = whole.of(*parameters[index]).data<float>();
    for (std::size_t share = 0; share < others_.size(); ++share)
      values_[share].push_back(others_[share].of(*parameters[index]).data<float>());
    const std::int64_t elements = parameters[index]->value.element_count();
    for (std::int64_t begin = 0; begin < elements; begin += kShareElements)
      pieces_.push_back({sum + begin, begin, std::min(kShareElements, elements - begin), index});
  }
}

Gradients& GradientShares::of(std::int64_t share) {
  return share == 0 ? whole_ : others_[static_cast<std::size_t>(share - 1)];
}

void GradientShares::add_up() const {
  if (others_.empty()) return;
  parallel_for(std::ssize(pieces_), [this](std::int64_t index, int /*thread*/) {
    const Piece& piece = pieces_[static_cast<std::size_t>(index)];
    for (const std::vector<const float*>& values : values_)
      kernels::cpu::add_to(piece.whole, values[piece.parameter] + piece.begin, piece.count);
  });
}

double sum_of_squares(const Tensor& tensor) {
  return kernels::sum_of_squares(tensor.data<float>(), tensor.element_count());
}

namespace {

bool all_finite(const Tensor& tensor) { return std::isfinite(sum_of_squares(tensor)); }

}  // namespace

void fail_not_finite(const NotFinite& found, std::span<Parameter* const> parameters,
                     const Gradients& gradients) {
  std::string tensor = "no tensor";
  for (const Parameter* parameter : parameters) {
    const Tensor* gradient = gradients.find(*parameter);
    const bool bad_value = !all_finite(parameter->value);
    if (!bad_value && all_finite(*gradient)) continue;
    tensor = fmt::format("{}{}", bad_value ? "" : "the gradient of ", parameter->name);
    break;
  }
  fail({.code = ErrorCode::kFailed,
        .op = "train",
        .argument = found.what,
        .found = fmt::format("{} at step {}: {} is not finite",
                             std::isnan(found.value) ? "nan" : "infinite", found.step, tensor),
        .hint = "last good checkpoint: " + found.last_checkpoint});
}

}  // namespace heed
