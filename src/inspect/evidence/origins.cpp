#include "inspect/evidence/origins.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/sequences.h"
#include "nn/rotation.h"
#include "ops/elementwise.h"

namespace heed {
namespace {

using Rows = std::vector<std::vector<double>>;  // [row][D]

enum class Side : std::uint8_t { kQuery, kKey };

// The columns of a projection's output with a head's queries or keys.
struct Columns {
  std::size_t linear = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
};

Columns columns_of(const Attention& attention, Side side, int head) {
  const AttentionShape& shape = attention.shape();
  const std::int64_t D = shape.head_dim;
  const bool is_key = side == Side::kKey;
  if (attention.parts().projections.size() > 1) {
    const std::int64_t step = shape.gated && !is_key ? 2 * D : D;  // a gate follows each query
    return {is_key ? 1U : 0U, head * step, D};
  }
  if (shape.by_head) {
    const std::int64_t each = shape.heads / shape.kv_heads;
    const std::int64_t group = is_key ? head : head / each;
    return {0, (group * (each + 2) + (is_key ? each : head % each)) * D, D};
  }
  return {0, ((is_key ? shape.heads : 0) + head) * D, D};
}

// The norm of a head's queries or keys, if it has one.
const Norm* norm_of(const Attention& attention, Side side, int head) {
  const AttentionParts& parts = attention.parts();
  const std::vector<Norm>& norms = side == Side::kQuery ? parts.q_norms : parts.k_norms;
  if (norms.empty()) return nullptr;
  return &norms[norms.size() == 1 ? 0 : static_cast<std::size_t>(head)];
}

// The same for all heads, if their queries or keys share one norm.
Columns normed_columns(const Attention& attention, Side side, int head) {
  const Norm* norm = norm_of(attention, side, head);
  const Columns own = columns_of(attention, side, head);
  return norm != nullptr && norm->width() > own.count ? Columns{own.linear, 0, norm->width()} : own;
}

// Projects rows [N, C] to those columns, without the bias.
Tensor projected(const Attention& attention, const Columns& columns, const Tensor& x) {
  const Tensor all = attention.parts().projections[columns.linear].product(x, {});
  return Tensor::copy_of(all.view().slice(1, columns.first, columns.first + columns.count));
}

Tensor shift_of(const Attention& attention, const Columns& columns, std::int64_t rows) {
  const ConstView bias = attention.parts().projections[columns.linear].bias();
  Tensor shift = Tensor::zeros({rows, columns.count}, DType::kF32);
  if (bias.given()) add_to_rows(shift, bias.slice(0, columns.first, columns.first + columns.count));
  return shift;
}

Tensor total_of(const std::vector<StreamPart>& parts) {
  Tensor total = Tensor::zeros(parts.front().rows.shape(), DType::kF32);
  for (const StreamPart& part : parts) add_to(total, part.rows);
  return total;
}

// Projects parts of the stream to parts of a head's queries or keys, before rotation.
std::vector<StreamPart> projected_parts(const Attention& attention, Side side, int head,
                                        std::vector<StreamPart> stream) {
  std::vector<StreamPart> parts;
  const std::int64_t rows = stream.front().rows.dim(0);
  const Columns own = columns_of(attention, side, head);
  const Columns columns = normed_columns(attention, side, head);
  Tensor shift = shift_of(attention, columns, rows);
  const bool moves = !is_nothing(shift);
  if (moves && stream.back().name != "shifts") parts.push_back({"shifts", shift.clone()});
  for (auto part = stream.rbegin(); part != stream.rend(); ++part) {
    Tensor of = projected(attention, columns, part->rows);
    if (moves && part->name == "shifts") add_to(of, shift);
    parts.push_back({part->name, std::move(of)});
  }
  std::ranges::reverse(parts);
  const Norm* norm = norm_of(attention, side, head);
  if (norm == nullptr) return parts;
  const FrozenNorm frozen(norm->numbers(), total_of(parts));
  for (StreamPart& part : parts) {
    frozen.apply(part.rows);
    if (columns.count > own.count)
      part.rows = Tensor::copy_of(part.rows.view().slice(1, own.first, own.first + own.count));
  }
  return parts;
}

// One row as used in the score.
std::vector<double> turned_row(const Tensor& rows, std::int64_t at, std::int64_t position,
                               const Turns& turns) {
  const float* from = rows.data<float>() + at * rows.dim(1);
  std::vector<double> row(from, from + rows.dim(1));
  turn(row, turns, static_cast<double>(position));
  for (std::size_t d = 0; d < 2 * turns.angles.size(); ++d) row[d] *= turns.length;
  return row;
}

// Which rows of the key's side are read, and what the key is compared with.
struct KeyRows {
  std::vector<std::int64_t> rows;
  std::optional<std::int64_t> runner;
};

KeyRows key_rows(const Session& session, const OriginsRequest& request) {
  const LayerAttention& layer = session.at(request.place);
  KeyRows keys;
  if (request.against == Against::kMean)
    keys.rows = HeadRows(layer, request.place.head).visible_keys(request.query);
  if (request.against == Against::kRunner) {
    const auto row = look_rows(layer, request.place.head, std::vector{request.query}, 2);
    for (const LookKey& other : row.at(0).attends)
      if (other.key != request.key && !keys.runner) keys.runner = other.key;
    if (keys.runner) keys.rows.push_back(*keys.runner);
  }
  keys.rows.push_back(request.key);
  sort_once(keys.rows);
  return keys;
}

// The key's row minus what it is compared with.
std::vector<double> compared(const Tensor& rows, const KeyRows& keys, const OriginsRequest& request,
                             const std::vector<std::int64_t>& visible, const Turns& turns) {
  const auto row_of = [&](std::int64_t key) {
    const auto at = std::ranges::lower_bound(keys.rows, key) - keys.rows.begin();
    return turned_row(rows, at, key, turns);
  };
  std::vector<double> own = row_of(request.key);
  if (request.against == Against::kRaw || (request.against == Against::kRunner && !keys.runner))
    return own;
  const std::vector<std::int64_t> others = keys.runner ? std::vector{*keys.runner} : visible;
  for (const std::int64_t key : others) {
    const std::vector<double> other = row_of(key);
    for (std::size_t d = 0; d < own.size(); ++d)
      own[d] -= other[d] / static_cast<double>(others.size());
  }
  return own;
}

std::vector<double> products(const std::vector<double>& query, const Rows& keys, double scale) {
  std::vector<double> all;
  for (const std::vector<double>& key : keys)
    all.push_back(scale * std::inner_product(query.begin(), query.end(), key.begin(), 0.0));
  return all;
}

// The number to which the cells sum, from the session's own rows.
double requested_number(const Session& session, const OriginsRequest& request, const KeyRows& keys,
                        const std::vector<std::int64_t>& visible) {
  const HeadRows rows(session.at(request.place), request.place.head);
  const auto score = [&](std::int64_t key) {
    const std::vector<double> terms = rows.terms(rows.query(request.query), rows.key(key));
    return std::accumulate(terms.begin(), terms.end(), 0.0);
  };
  if (keys.runner) return score(request.key) - score(*keys.runner);
  double mean = 0;
  if (request.against == Against::kMean)
    for (const std::int64_t key : visible) mean += score(key) / static_cast<double>(visible.size());
  return score(request.key) - mean;
}

std::optional<std::size_t> branch_named(const StreamParts& stream,
                                        const std::optional<std::string>& name) {
  if (!name) return {};
  for (const BranchParts& branch : stream.branches)
    if (branch.attention != nullptr && name_of(branch) == *name)
      return static_cast<std::size_t>(&branch - stream.branches.data());
  return {};
}

// The attention's input from its queries' or keys' stream, in parts.
std::vector<StreamPart> stream_parts(const Session& session, const Writes& writes,
                                     const ModelParts& model, const OriginsRequest& request,
                                     Side side, std::vector<std::int64_t> rows) {
  const PlaceInStream own = find_place(model, request.place);
  const PlaceInStream at = side == Side::kKey ? find_keys(model, request.place) : own;
  StreamSum sum(*at.stream, writes, session, std::move(rows));
  sum.pass_branches(at.branch, branch_named(*at.stream, request.split));
  const auto& read = at.branch < at.stream->branches.size()
                         ? at.stream->branches[at.branch].before
                         : own.stream->branches[own.branch].before;
  if (at.stream != own.stream && at.stream->last)
    sum.pass_norm(*at.stream->last);
  else if (at.stream == own.stream && read)
    sum.pass_norm(*read);
  return sum.parts();
}

std::vector<std::string> names_of(const std::vector<StreamPart>& parts) {
  std::vector<std::string> names;
  for (const StreamPart& part : parts) names.push_back(part.name);
  return names;
}

}  // namespace

Tensor attention_input(const Session& session, const Writes& writes, const ModelParts& parts,
                       const Place& place, std::vector<std::int64_t> rows, bool of_keys) {
  const auto from = stream_parts(session, writes, parts, {.place = place},
                                 of_keys ? Side::kKey : Side::kQuery, std::move(rows));
  return total_of(from);
}

Tensor query_projection(const Attention& attention, int head, const Tensor& x) {
  return projected(attention, columns_of(attention, Side::kQuery, head), x);
}

Tensor key_projection(const Attention& attention, int kv_head, const Tensor& x) {
  return projected(attention, columns_of(attention, Side::kKey, kv_head), x);
}

Turns turns_of(const LoadedModel* model, const Session& session, const Place& place) {
  if (model == nullptr) return {};
  const ModelParts parts = model->model->parts();
  const PlaceInStream at = find_place(parts, place);
  const auto& rotation = at.stream->branches[at.branch].attention->parts().rotation;
  if (!rotation || place.stack == Stack::kCross) return {};
  const RopeScaling& scaling = rotation->scaling();
  return {.angles = rope_frequencies(scaling, std::ssize(session.queries(place.stack))),
          .length = scaling.length,
          .pairs = scaling.pairs};
}

StreamRows rows_for(const Session& session, const OriginsRequest& request) {
  StreamRows rows;
  std::vector<std::int64_t> keys = key_rows(session, request).rows;
  std::vector<std::int64_t> query = {request.query};
  if (request.place.stack == Stack::kCross)
    return {.tokens = std::move(query), .source = std::move(keys)};
  if (!std::ranges::binary_search(keys, request.query))
    keys.insert(std::ranges::lower_bound(keys, request.query), request.query);
  if (request.place.stack == Stack::kEncoder && session.info.reads_source())
    return {.tokens = std::vector<std::int64_t>(), .source = std::move(keys)};
  return {.tokens = std::move(keys), .source = std::vector<std::int64_t>()};
}

Origins origins(const Session& session, const LoadedModel& model, const Writes& writes,
                const OriginsRequest& request) {
  const ModelParts parts = model.model->parts();
  const PlaceInStream at = find_place(parts, request.place);
  const Attention& attention = *at.stream->branches[at.branch].attention;
  const HeadRows rows(session.at(request.place), request.place.head);
  const Turns turns = turns_of(&model, session, request.place);
  const KeyRows keys = key_rows(session, request);
  const std::vector<std::int64_t> visible = rows.visible_keys(request.query);
  const auto of_query =
      projected_parts(attention, Side::kQuery, request.place.head,
                      stream_parts(session, writes, parts, request, Side::kQuery, {request.query}));
  const auto of_key =
      projected_parts(attention_of_keys(parts, request.place), Side::kKey, rows.kv_head(),
                      stream_parts(session, writes, parts, request, Side::kKey, keys.rows));
  Origins answer{.query_parts = names_of(of_query),
                 .key_parts = names_of(of_key),
                 .number = requested_number(session, request, keys, visible)};
  Rows compared_keys;
  for (const StreamPart& part : of_key)
    compared_keys.push_back(compared(part.rows, keys, request, visible, turns));
  for (const StreamPart& part : of_query) {
    const std::vector<double> query = turned_row(part.rows, 0, request.query, turns);
    answer.cells.push_back(products(query, compared_keys, rows.scale()));
    answer.sum += std::reduce(answer.cells.back().begin(), answer.cells.back().end());
  }
  answer.residual = answer.number - answer.sum;
  return answer;
}

}  // namespace heed
