// The pass that records what is written to the streams.
#include <algorithm>
#include <utility>

#include "inspect/evidence/model_streams.h"
#include "inspect/session/session_input.h"

namespace heed {

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
