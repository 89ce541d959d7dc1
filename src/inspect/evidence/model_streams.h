// All writes to a model's residual streams, and fixed norms that follow each write to where it is
// read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "heed/session.h"
#include "models/parts.h"

namespace heed {

/// Which rows of a stream a pass keeps; empty: all.
struct StreamRows {
  std::optional<std::vector<std::int64_t>> tokens = {};  // of the text, or of the output
  std::optional<std::vector<std::int64_t>> source = {};  // of the encoder's side
};

/// Everything that a pass added to its streams. Computed by a second pass on request, because a
/// session keeps only Q, K, V and lse.
class Writes {
 public:
  /// `rows` must be sorted.
  Writes(const Session& session, const LoadedModel& model, StreamRows rows,
         const std::atomic<bool>* stopped = nullptr);

  /// [rows, C]: a copy of some rows of a write.
  Tensor rows_of(TapKind kind, Stack stack, int layer, const std::vector<std::int64_t>& rows) const;
  /// The bytes for all rows of a session's pass.
  static std::int64_t bytes_of_all(const Session& session);

 private:
  friend class WritesTap;
  using Key = std::tuple<TapKind, Stack, int>;
  std::map<Key, Tensor> writes_;
  StreamRows kept_;
};

/// A norm with the mean and scale of given rows.
class FrozenNorm {
 public:
  FrozenNorm(const NormNumbers& numbers, const Tensor& rows);  // [N, C]
  /// Applies it to a part of those rows, without the norm's shift.
  void apply(Tensor& part) const;
  /// Adds the norm's shift to each row.
  void add_shift(Tensor& rows) const;
  /// Applies the transpose to vectors that read the norm's output: <apply(x), u> = <x, u'>.
  void apply_transposed(Tensor& u) const;

 private:
  double weight(std::int64_t c) const;

  NormNumbers numbers_;
  std::vector<double> scale_;
};

struct StreamPart {
  std::string name;
  Tensor rows;  // [N, C]
};

/// Some rows of a stream as a sum over their writers, beginning with the embedding. The shifts of
/// norms and layers are one part, the last.
class StreamSum {
 public:
  StreamSum(const StreamParts& stream, const Writes& writes, const Session& session,
            std::vector<std::int64_t> rows);

  /// Passes branches up to `end`; the write of the attention branch `split` is separated by head.
  void pass_branches(std::size_t end, std::optional<std::size_t> split = {});
  /// Adds only the next branch's write, without the norm after it.
  void pass_write() { add_write(stream_.branches[passed_++]); }
  /// Applies a norm with its original statistics.
  void pass_norm(const NormNumbers& norm);
  /// From now on `rows` passes the same norms as the stream, but is not added to it.
  void follow(Tensor rows) { followed_ = std::move(rows); }

  std::vector<StreamPart> parts() const;
  const Tensor& followed() const { return followed_; }
  /// The sum so far.
  const Tensor& total() const { return total_; }
  /// The norms that the stream itself passed, in order.
  const std::vector<FrozenNorm>& norms() const { return norms_; }

 private:
  void embed(const Session& session);
  void add_write(const BranchParts& branch);
  void add_heads(const BranchParts& branch);
  void add(std::string name, Tensor rows);

  const StreamParts& stream_;
  const Writes& writes_;
  std::vector<std::int64_t> rows_;
  std::size_t passed_ = 0;
  std::vector<FrozenNorm> norms_;
  std::vector<StreamPart> parts_;
  Tensor shift_, total_, followed_;
};

/// The columns of a head in rows [N, H D] of all heads.
Tensor of_head(const Attention& attention, int head, const Tensor& rows);

/// A head's write to the stream: its output [N, Dv] through its part of the output projection,
/// without the shift.
Tensor head_write(const Attention& attention, int head, const Tensor& rows);

/// Adds a vector [C] to each of some rows [N, C], if it is given.
void add_to_rows(Tensor& rows, const ConstView& shift);
/// Whether all numbers are 0.
bool is_nothing(const Tensor& rows);

/// "attn 2", "cross 0", "MLP 1", "words 3", "delta 4".
std::string name_of(const BranchParts& branch);

/// The stream that a place adds to, and the index of its attention among the branches.
struct PlaceInStream {
  const StreamParts* stream = nullptr;
  std::size_t branch = 0;
};
PlaceInStream find_place(const ModelParts& parts, const Place& place);
/// The stream from which it reads keys, and the branches that have written to it.
PlaceInStream find_keys(const ModelParts& parts, const Place& place);
/// The attention that projects the keys of a place: its own, or the one whose keys it reads.
const Attention& attention_of_keys(const ModelParts& parts, const Place& place);

/// For each position of the model's output: what the head adds there to the logit of the actual
/// next word, minus the mean over all words, which changes no probability. Norms are held fixed,
/// and a soft cap of the logits is ignored. After the last token, the likeliest word is used.
struct DirectWrites {
  Place place;
  std::vector<float> logits;
};

/// For every head whose stream the words are read from; empty if the model has no vocabulary, or a
/// nonlinear layer before it. Runs the model on pieces of the text to bound memory.
std::vector<DirectWrites> direct_writes(const Session& session, const LoadedModel& model);

}  // namespace heed
