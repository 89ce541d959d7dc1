#include "inspect/session/pass.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/stop.h"
#include "inspect/session/edit_tap.h"
#include "inspect/session/session_input.h"

namespace heed {
namespace {

// [1, T] i32.
Tensor batch_of(std::span<const SessionToken> tokens) {
  Tensor ids = Tensor::empty({1, std::ssize(tokens)}, DType::kI32);
  std::ranges::transform(tokens, ids.data<TokenId>(), &SessionToken::id);
  return ids;
}

}  // namespace

Tensor pass_over(const Session& session, const LoadedModel& model, const PassOptions& options) {
  check_length(session);
  const Tensor ids = batch_of(session.tokens);
  const Tensor source = batch_of(session.key_tokens);
  EditTap edited(session, options.tap);
  Run run;
  run.tap = session.edits.empty() ? options.tap : &edited;
  run.last_position_only = !options.all_positions;
  run.in_bulk = ids.dim(1) >= kBulkRows;
  std::optional<StopScope> scope;
  if (options.stopped != nullptr) scope.emplace(*options.stopped);
  Batch batch = {.ids = ids};
  if (session.info.reads_source()) batch.source = source;
  if (!session.types.empty())
    batch.types = ConstView(session.types.data(), DType::kI32, ids.shape());
  Tensor out = model.model->forward(batch, run);
  const Shape shape = {out.dim(1), out.dim(2)};
  return std::move(out).reshaped(shape);
}

}  // namespace heed
