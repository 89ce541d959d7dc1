#include "inspect/evidence/anatomy.h"

#include <algorithm>
#include <numeric>

#include "base/sequences.h"
#include "inspect/evidence/origins.h"
#include "inspect/evidence/score_parts.h"
#include "tensor/views.h"

namespace heed {
namespace {

constexpr std::int64_t kWidestForm = 128;

std::vector<std::int64_t> window(std::int64_t begin, std::int64_t count) {
  return ascending(std::clamp<std::int64_t>(count - begin, 0, kAnatomyRows), begin);
}

Numbers numbers_of(const Tensor& rows) {
  Numbers numbers;
  for (std::int64_t at = 0; at < rows.dim(0); ++at) {
    const std::span<const float> row = matrix_row(rows, at);
    numbers.emplace_back(row.begin(), row.end());
  }
  return numbers;
}

Tensor identity(std::int64_t size) {
  Tensor one = Tensor::zeros({size, size}, DType::kF32);
  for (std::int64_t i = 0; i < size; ++i) one.data<float>()[i * size + i] = 1;
  return one;
}

// Reads the model's parts: the input, and its projections as matrices.
void read_model(const Session& session, const LoadedModel& model,
                const std::vector<std::int64_t>& queries, const std::vector<std::int64_t>& keys,
                Anatomy& anatomy) {
  const ModelParts parts = model.model->parts();
  const PlaceInStream at = find_place(parts, anatomy.place);
  const Attention& attention = *at.stream->branches[at.branch].attention;
  const PlaceInStream of_keys = find_keys(parts, anatomy.place);
  const bool other_stream = of_keys.stream != at.stream;
  const bool other_keys = other_stream || of_keys.branch != at.branch;
  const bool encodes = at.stream->stack == Stack::kEncoder;
  StreamRows rows;
  rows.tokens = encodes ? std::vector<std::int64_t>() : queries;
  rows.source = encodes ? queries : other_stream ? keys : std::vector<std::int64_t>();
  if (other_keys && !other_stream) {
    rows.tokens->insert(rows.tokens->end(), keys.begin(), keys.end());
    sort_once(*rows.tokens);
  }
  const Writes writes(session, model, rows);
  anatomy.x = numbers_of(attention_input(session, writes, parts, anatomy.place, queries, false));
  if (other_keys)
    anatomy.key_x = numbers_of(attention_input(session, writes, parts, anatomy.place, keys, true));
  if (attention.shape().gated)
    anatomy.gates = numbers_of(
        of_head(attention, anatomy.place.head,
                writes.rows_of(TapKind::kGates, at.stream->stack, anatomy.place.layer, queries)));
  const std::int64_t width = session.info.width;
  anatomy.up =
      numbers_of(head_write(attention, anatomy.place.head, identity(attention.shape().head_dim)));
  if (width > kWidestForm) return;
  const Tensor all = identity(width);
  const Tensor q = query_projection(attention, anatomy.place.head, all);
  const Tensor k = key_projection(attention_of_keys(parts, anatomy.place), anatomy.kv_head, all);
  for (std::int64_t a = 0; a < width; ++a) {
    anatomy.form.emplace_back();
    for (std::int64_t b = 0; b < width; ++b)
      anatomy.form.back().push_back(std::inner_product(q.data<float>() + a * q.dim(1),
                                                       q.data<float>() + (a + 1) * q.dim(1),
                                                       k.data<float>() + b * k.dim(1), 0.0F));
  }
}

// Reads what enters one query's row besides the product.
void read_row(const LayerAttention& layer, const HeadRows& rows, std::int64_t query,
              const std::vector<std::int64_t>& keys, Anatomy& answer) {
  answer.q.emplace_back(rows.query(query).begin(), rows.query(query).end());
  const std::vector<std::int64_t> visible = rows.visible_keys(query);
  const bool biased = layer.scores.bias.given() || layer.scores.alibi.given();
  answer.visible.emplace_back();
  if (biased) answer.bias.emplace_back();
  for (const std::int64_t key : keys) {
    answer.visible.back().push_back(std::ranges::binary_search(visible, key) ? 1 : 0);
    if (biased)
      answer.bias.back().push_back(
          static_cast<float>(rows.bias(query, key) + rows.alibi(query, key)));
  }
  if (layer.lse.given() && layer.lse.element_count() > 0)
    answer.lse.push_back(layer.lse.data<float>()[answer.place.head * layer.lse.dim(2) + query]);
}

}  // namespace

Anatomy anatomy(const Session& session, const LoadedModel* model, const Place& place,
                std::int64_t query_begin, std::int64_t key_begin) {
  const LayerAttention& layer = session.at(place);
  const HeadRows rows(layer, place.head);
  Anatomy answer{.place = place,
                 .kv_head = rows.kv_head(),
                 .query_begin = query_begin,
                 .key_begin = key_begin,
                 .scale = rows.scale(),
                 .softcap = layer.scores.softcap};
  const auto queries = window(query_begin, layer.queries());
  const auto keys = window(key_begin, layer.keys());
  for (const std::int64_t query : queries) read_row(layer, rows, query, keys, answer);
  for (const std::int64_t key : keys) {
    answer.k.emplace_back(rows.key(key).begin(), rows.key(key).end());
    answer.v.emplace_back(rows.value(key).begin(), rows.value(key).end());
  }
  if (model == nullptr) return answer;
  answer.turned = !turns_of(model, session, place).angles.empty();
  read_model(session, *model, queries, keys, answer);
  return answer;
}

}  // namespace heed
