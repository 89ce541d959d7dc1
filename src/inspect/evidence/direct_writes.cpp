// Propagates each position's word direction backward through the norms, and multiplies each head's
// output with the result: neither the heads' writes nor logits are computed.
#include <algorithm>
#include <numeric>
#include <utility>

#include "base/sequences.h"
#include "inspect/evidence/model_streams.h"
#include "inspect/evidence/read_out.h"
#include "inspect/session/session_input.h"
#include "ops/matmul.h"
#include "tensor/views.h"

namespace heed {
namespace {

constexpr std::int64_t kKeptBytes = std::int64_t{1} << 28;  // for the writes of one piece

// The mean over all words of their directions in the stream, [C].
std::vector<double> mean_direction(const Linear& words, std::int64_t width) {
  std::vector<double> mean(static_cast<std::size_t>(width));
  std::vector<float> row(mean.size());
  for (std::int64_t word = 0; word < words.outputs(); ++word) {
    words.copy_row_of_weight(word, row.data());
    for (std::size_t c = 0; c < mean.size(); ++c)
      mean[c] += static_cast<double>(row[c]) / static_cast<double>(words.outputs());
  }
  return mean;
}

// The rows [begin, end) of the stream from which words are read, and their directions.
class Piece {
 public:
  Piece(const Session& session, const ModelParts& parts, const Writes& writes,
        std::vector<std::int64_t> rows)
      : session_(session),
        parts_(parts),
        stream_(parts.streams.back()),
        writes_(writes),
        rows_(std::move(rows)),
        sum_(stream_, writes, session, rows_) {
    sum_.pass_branches(stream_.branches.size());
    if (const auto& last = stream_.last) sum_.pass_norm(*last);
  }

  /// Adds these rows to each head's.
  void add_to(std::vector<DirectWrites>& heads, const std::vector<double>& mean) const {
    Tensor towards = directions(mean);
    auto norm = sum_.norms().rbegin();
    if (stream_.last) (norm++)->apply_transposed(towards);
    std::size_t head = heads.size();
    for (auto branch = stream_.branches.rbegin(); branch != stream_.branches.rend(); ++branch) {
      if (branch->after) (norm++)->apply_transposed(towards);
      if (branch->attention == nullptr) continue;
      head -= static_cast<std::size_t>(branch->attention->shape().heads);
      add_branch(*branch, towards.clone(), std::span(heads).subspan(head));
    }
  }

 private:
  TokenId word_at(std::size_t at) const {
    if (const auto came = word_that_came(session_, rows_[at])) return *came;
    const auto row = static_cast<std::int64_t>(at);
    const Tensor state = Tensor::copy_of(sum_.total().view().slice(0, row, row + 1));
    const Tensor logits = parts_.words->apply(state, {});
    return first_choice(matrix_row(logits, 0));
  }

  Tensor directions(const std::vector<double>& mean) const {
    Tensor towards = Tensor::empty({std::ssize(rows_), std::ssize(mean)});
    for (std::size_t at = 0; at < rows_.size(); ++at) {
      float* const row = towards.data<float>() + at * mean.size();
      parts_.words->copy_row_of_weight(word_at(at), row);
      for (std::size_t c = 0; c < mean.size(); ++c)
        row[c] = static_cast<float>((row[c] - mean[c]) * parts_.words_scale);
    }
    return towards;
  }

  void add_branch(const BranchParts& branch, Tensor towards, std::span<DirectWrites> heads) const {
    const Tensor outputs = writes_.rows_of(TapKind::kHeads, branch.stack, branch.layer, rows_);
    const Linear& out = branch.attention->parts().out;
    if (branch.inside) FrozenNorm(*branch.inside, out.apply(outputs, {})).apply_transposed(towards);
    const Tensor weight = out.rows_of_weight();
    const Tensor through = matmul({.a = towards, .b = weight});  // [N, H D]
    const std::int64_t size = branch.attention->shape().head_dim, width = through.dim(1);
    for (std::int64_t row = 0; row < through.dim(0); ++row)
      for (std::int64_t head = 0; head < branch.attention->shape().heads; ++head) {
        const std::int64_t first = row * width + head * size;
        const float* const output = outputs.data<float>() + first;
        heads[static_cast<std::size_t>(head)].logits.push_back(static_cast<float>(
            std::inner_product(output, output + size, through.data<float>() + first, 0.0)));
      }
  }

  const Session& session_;
  const ModelParts& parts_;
  const StreamParts& stream_;
  const Writes& writes_;
  std::vector<std::int64_t> rows_;
  StreamSum sum_;
};

std::vector<DirectWrites> heads_of(const StreamParts& stream) {
  std::vector<DirectWrites> heads;
  for (const BranchParts& branch : stream.branches)
    if (branch.attention != nullptr)
      for (int head = 0; head < branch.attention->shape().heads; ++head)
        heads.push_back({.place = {branch.stack, branch.layer, head}, .logits = {}});
  return heads;
}

}  // namespace

std::vector<DirectWrites> direct_writes(const Session& session, const LoadedModel& model) {
  ModelParts parts = model.model->parts();
  if (!session.info.has_logits || parts.words == nullptr) return {};
  const Linear words = parts.words->held();
  parts.words = &words;
  std::vector<DirectWrites> heads = heads_of(parts.streams.back());
  const std::vector<double> mean = mean_direction(words, session.info.width);
  const std::int64_t count = std::ssize(session.tokens);
  const std::int64_t a_row = Writes::bytes_of_all(session) / count;
  const std::int64_t most = std::clamp<std::int64_t>(kKeptBytes / a_row, 1, count);
  for (std::int64_t begin = 0; begin < count; begin += most) {
    auto rows = ascending(std::min(most, count - begin), begin);
    const Writes writes(session, model, {.tokens = rows, .source = std::vector<std::int64_t>()});
    Piece(session, parts, writes, std::move(rows)).add_to(heads, mean);
  }
  return heads;
}

class WritesTap final : public Tap {
 public:
  explicit WritesTap(Writes& writes) : writes_(writes) {}

  void at(const TapName& name, View value) override {
    const ConstView seen = value;
    if (name.kind == TapKind::kHeads || name.kind == TapKind::kGates) {
      Tensor rows = kept(name.stack, seen.select(0, 0).permute({1, 0, 2}));
      const Shape shape = {rows.dim(0), rows.dim(1) * rows.dim(2)};
      keep(name, std::move(rows).reshaped(shape));
    } else if (name.kind == TapKind::kEmbedding || name.kind == TapKind::kAttention ||
               name.kind == TapKind::kMlp || name.kind == TapKind::kLayerWords) {
      keep(name, kept(name.stack, seen.select(0, 0)));
    }
  }

 private:
  void keep(const TapName& name, Tensor rows) {
    writes_.writes_.insert_or_assign({name.kind, name.stack, name.layer}, std::move(rows));
  }

  // A copy of the rows (first axis) to keep.
  Tensor kept(Stack stack, const ConstView& all) const {
    const auto& rows = stack == Stack::kEncoder ? writes_.kept_.source : writes_.kept_.tokens;
    if (!rows) return Tensor::copy_of(all);
    Shape shape = all.shape();
    shape[0] = std::ssize(*rows);
    Tensor some = Tensor::empty(shape, all.dtype());
    const std::int64_t size = shape[0] == 0 ? 0 : some.element_count() / shape[0];
    float* into = some.data<float>();
    for (const std::int64_t row : *rows) {
      const Tensor one = Tensor::copy_of(all.select(0, row));
      into = std::copy_n(one.data<float>(), size, into);
    }
    return some;
  }

  Writes& writes_;
};

Writes::Writes(const Session& session, const LoadedModel& model, StreamRows rows,
               const std::atomic<bool>* stopped)
    : kept_(std::move(rows)) {
  WritesTap tap(*this);
  pass_over(session, model, {.tap = &tap, .stopped = stopped});
}

namespace {

// Rows of x [T, C], which holds those of `kept` (sorted), or all.
Tensor rows_from(const Tensor& x, const std::optional<std::vector<std::int64_t>>& kept,
                 const std::vector<std::int64_t>& rows) {
  Tensor out = Tensor::empty({std::ssize(rows), x.dim(1)});
  float* into = out.data<float>();
  for (const std::int64_t row : rows) {
    const std::int64_t at = kept ? std::ranges::lower_bound(*kept, row) - kept->begin() : row;
    into = std::copy_n(x.data<float>() + at * x.dim(1), x.dim(1), into);
  }
  return out;
}

}  // namespace

Tensor Writes::rows_of(TapKind kind, Stack stack, int layer,
                       const std::vector<std::int64_t>& rows) const {
  const auto& kept = stack == Stack::kEncoder ? kept_.source : kept_.tokens;
  return rows_from(writes_.at({kind, stack, layer}), kept, rows);
}

std::int64_t Writes::bytes_of_all(const Session& session) {
  std::int64_t numbers = 0;
  for (const SessionStack& stack : session.stacks) {
    const std::int64_t rows = std::ssize(session.queries(stack.shape.stack));
    const std::int64_t heads = static_cast<std::int64_t>(stack.shape.heads) * stack.shape.head_dim;
    numbers += rows * (1 + stack.shape.layers) * (2 * session.info.width + heads);
  }
  return 4 * numbers;
}

}  // namespace heed
