#include "inspect/evidence/model_streams.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "heed/error.h"
#include "ops/elementwise.h"

namespace heed {
namespace {

const char* kind_of(const BranchParts& branch) {
  if (branch.kind == TapKind::kLayerWords) return "words";
  if (branch.kind == TapKind::kMlp) return "MLP";
  if (branch.attention == nullptr) return "delta";
  return branch.stack == Stack::kCross ? "cross" : "attn";
}

// Rows of a table of any floating type, times `scale`.
Tensor looked_up(const Embedding& table, const std::vector<std::int32_t>& ids, double scale) {
  Tensor wanted = Tensor::empty({1, std::ssize(ids)}, DType::kI32);
  std::ranges::copy(ids, wanted.data<std::int32_t>());
  Tensor rows = Tensor::converted(table.forward(wanted), DType::kF32);
  const Shape shape = {rows.dim(1), rows.dim(2)};
  rows = std::move(rows).reshaped(shape);
  return scale == 1 ? std::move(rows) : scaled(std::move(rows), scale);
}

std::vector<std::int32_t> positions_of(const StreamParts& stream,
                                       std::span<const SessionToken> tokens) {
  std::vector<std::int32_t> positions;
  std::int64_t next = stream.first_position;
  for (const SessionToken& token : tokens) {
    const bool padding = stream.pad >= 0 && token.id == stream.pad;
    positions.push_back(static_cast<std::int32_t>(padding ? stream.pad : next++));
  }
  return positions;
}

Tensor difference(Tensor from, const Tensor& what) {
  for (std::int64_t i = 0; i < from.element_count(); ++i)
    from.data<float>()[i] -= what.data<float>()[i];
  return from;
}

}  // namespace

void add_to_rows(Tensor& rows, const ConstView& shift) {
  if (!shift.given()) return;
  for (std::int64_t row = 0; row < rows.dim(0); ++row)
    for (std::int64_t c = 0; c < rows.dim(1); ++c)
      rows.data<float>()[row * rows.dim(1) + c] += shift.data<float>()[c];
}

bool is_nothing(const Tensor& rows) {
  return std::all_of(rows.data<float>(), rows.data<float>() + rows.element_count(),
                     [](float value) { return value == 0; });
}

std::string name_of(const BranchParts& branch) {
  return fmt::format("{} {}", kind_of(branch), branch.layer);
}

PlaceInStream find_place(const ModelParts& parts, const Place& place) {
  for (const StreamParts& stream : parts.streams)
    for (const BranchParts& branch : stream.branches)
      if (branch.attention != nullptr && branch.stack == place.stack && branch.layer == place.layer)
        return {&stream, static_cast<std::size_t>(&branch - stream.branches.data())};
  fail({.op = "why", .found = "the model does not report this attention"});
}

PlaceInStream find_keys(const ModelParts& parts, const Place& place) {
  if (place.stack != Stack::kCross) {
    const PlaceInStream own = find_place(parts, place);
    const auto from = own.stream->branches[own.branch].attention->shape().keys_from;
    return from ? find_place(parts, {place.stack, *from, place.head}) : own;
  }
  const StreamParts& source = parts.streams.front();
  return {&source, source.branches.size()};
}

const Attention& attention_of_keys(const ModelParts& parts, const Place& place) {
  const PlaceInStream own = find_place(parts, place), keys = find_keys(parts, place);
  const PlaceInStream& at = keys.stream == own.stream ? keys : own;
  return *at.stream->branches[at.branch].attention;
}

Tensor of_head(const Attention& attention, int head, const Tensor& rows) {
  const std::int64_t width = attention.shape().head_dim;
  return Tensor::copy_of(rows.view().slice(1, head * width, (head + 1) * width));
}

Tensor head_write(const Attention& attention, int head, const Tensor& rows) {
  const std::int64_t width = attention.shape().heads * rows.dim(1);
  Tensor wide = Tensor::zeros({rows.dim(0), width}, DType::kF32);
  for (std::int64_t row = 0; row < rows.dim(0); ++row)
    std::copy_n(rows.data<float>() + row * rows.dim(1), rows.dim(1),
                wide.data<float>() + row * width + head * rows.dim(1));
  return attention.parts().out.product(wide, {});
}

FrozenNorm::FrozenNorm(const NormNumbers& numbers, const Tensor& rows) : numbers_(numbers) {
  const std::int64_t width = rows.dim(1);
  const auto over = static_cast<double>(width);
  for (std::int64_t row = 0; row < rows.dim(0); ++row) {
    const float* x = rows.data<float>() + row * width;
    double mean = 0, squares = 0;
    if (numbers.centred)
      for (std::int64_t c = 0; c < width; ++c) mean += x[c] / over;
    for (std::int64_t c = 0; c < width; ++c) squares += (x[c] - mean) * (x[c] - mean) / over;
    scale_.push_back(numbers.factor.value_or(1 / std::sqrt(squares + numbers.epsilon)));
  }
}

double FrozenNorm::weight(std::int64_t c) const {
  return numbers_.weight.given() ? numbers_.weight.data<float>()[c] + numbers_.offset : 1;
}

void FrozenNorm::apply(Tensor& part) const {
  const std::int64_t width = part.dim(1);
  for (std::int64_t row = 0; row < part.dim(0); ++row) {
    float* x = part.data<float>() + row * width;
    double mean = 0;
    if (numbers_.centred)
      for (std::int64_t c = 0; c < width; ++c) mean += x[c] / static_cast<double>(width);
    const double scale = scale_[static_cast<std::size_t>(row)];
    for (std::int64_t c = 0; c < width; ++c)
      x[c] = static_cast<float>((x[c] - mean) * scale * weight(c));
  }
}

void FrozenNorm::apply_transposed(Tensor& u) const {
  const std::int64_t width = u.dim(1);
  for (std::int64_t row = 0; row < u.dim(0); ++row) {
    float* x = u.data<float>() + row * width;
    double mean = 0;
    for (std::int64_t c = 0; c < width; ++c) {
      x[c] = static_cast<float>(x[c] * scale_[static_cast<std::size_t>(row)] * weight(c));
      mean += x[c] / static_cast<double>(width);
    }
    if (!numbers_.centred) continue;
    for (std::int64_t c = 0; c < width; ++c) x[c] = static_cast<float>(x[c] - mean);
  }
}

void FrozenNorm::add_shift(Tensor& rows) const { add_to_rows(rows, numbers_.bias); }

StreamSum::StreamSum(const StreamParts& stream, const Writes& writes, const Session& session,
                     std::vector<std::int64_t> rows)
    : stream_(stream), writes_(writes), rows_(std::move(rows)) {
  embed(session);
}

void StreamSum::add(std::string name, Tensor rows) {
  total_ = total_.given() ? heed::add(std::move(total_), rows) : rows.clone();
  parts_.push_back({std::move(name), std::move(rows)});
}

// Embeddings, positions and token types; positions that are not a table are the remainder.
// Embeddings that pass a projection are one part.
void StreamSum::embed(const Session& session) {
  const Tensor given = writes_.rows_of(TapKind::kEmbedding, stream_.stack, -1, rows_);
  if (stream_.words == nullptr) {
    shift_ = Tensor::zeros(given.shape(), DType::kF32);
    return add("embedding", given.clone());
  }
  const Stack shown = stream_.stack == Stack::kDecoder ? Stack::kCross : stream_.stack;
  const auto tokens = session.queries(shown);
  const std::vector<std::int32_t> all_positions = positions_of(stream_, tokens);
  std::vector<std::int32_t> ids, positions, types;
  for (const std::int64_t row : rows_) {
    const auto at = static_cast<std::size_t>(row);
    ids.push_back(tokens[at].id);
    positions.push_back(all_positions[at]);
    types.push_back(session.types.empty() ? 0 : session.types[at]);
  }
  add("tokens", looked_up(*stream_.words, ids, stream_.word_scale));
  shift_ = Tensor::zeros(total_.shape(), DType::kF32);
  if (stream_.positions != nullptr) add("positions", looked_up(*stream_.positions, positions, 1));
  if (stream_.types != nullptr) add("types", looked_up(*stream_.types, types, 1));
  if (stream_.embedded) return pass_norm(*stream_.embedded);
  Tensor left = difference(given.clone(), total_);
  if (!is_nothing(left)) add("positions", std::move(left));
}

void StreamSum::pass_norm(const NormNumbers& norm) {
  const FrozenNorm frozen(norm, total_);
  for (Tensor* rows : {&shift_, &total_, &followed_})
    if (rows->given()) frozen.apply(*rows);
  for (StreamPart& part : parts_) frozen.apply(part.rows);
  frozen.add_shift(shift_);
  frozen.add_shift(total_);
  norms_.push_back(frozen);
}

void StreamSum::pass_branches(std::size_t end, std::optional<std::size_t> split) {
  for (; passed_ < end; ++passed_) {
    const BranchParts& branch = stream_.branches[passed_];
    if (split == passed_ && branch.attention != nullptr)
      add_heads(branch);
    else
      add_write(branch);
    if (branch.after) pass_norm(*branch.after);
  }
}

void StreamSum::add_write(const BranchParts& branch) {
  add(name_of(branch), writes_.rows_of(branch.kind, branch.stack, branch.layer, rows_));
}

void StreamSum::add_heads(const BranchParts& branch) {
  const Attention& attention = *branch.attention;
  const Tensor heads = writes_.rows_of(TapKind::kHeads, branch.stack, branch.layer, rows_);
  std::vector<Tensor> written;
  Tensor shift = Tensor::zeros(total_.shape(), DType::kF32);
  add_to_rows(shift, attention.parts().out.bias());
  Tensor whole = shift.clone();
  for (int head = 0; head < attention.shape().heads; ++head) {
    written.push_back(head_write(attention, head, of_head(attention, head, heads)));
    whole = heed::add(std::move(whole), written.back());
  }
  if (branch.inside) {
    const FrozenNorm frozen(*branch.inside, whole);
    for (Tensor& rows : written) frozen.apply(rows);
    frozen.apply(shift);
    frozen.add_shift(shift);
  }
  for (int head = 0; head < attention.shape().heads; ++head)
    add(fmt::format("{} L{}.H{}", kind_of(branch), branch.layer, head), std::move(written[head]));
  shift_ = heed::add(std::move(shift_), shift);
  total_ = heed::add(std::move(total_), shift);
}

std::vector<StreamPart> StreamSum::parts() const {
  std::vector<StreamPart> all;
  for (const StreamPart& part : parts_) all.push_back({part.name, part.rows.clone()});
  if (!is_nothing(shift_)) all.push_back({"shifts", shift_.clone()});
  return all;
}

}  // namespace heed
