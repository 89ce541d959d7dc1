// What wrote a model's residual streams: every write of a pass, and norms held still to follow each
// of them to where it is read.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "heed/inspect/session.h"
#include "models/parts.h"

namespace heed {

/// Which rows of a stream a pass keeps; none: all.
struct StreamRows {
  std::optional<std::vector<std::int64_t>> tokens = {};  // of the text, or of what is written
  std::optional<std::vector<std::int64_t>> source = {};  // of the encoder's side
};

/// Everything that a pass added to its streams. It is computed by a second pass when it is asked
/// for: a session keeps Q, K, V and lse alone.
class Writes {
 public:
  /// `rows` sorted.
  Writes(const Session& session, const LoadedModel& model, StreamRows rows,
         const std::atomic<bool>* stopped = nullptr);

  /// [rows, C]: a copy of some rows of a write.
  Tensor rows_of(TapKind kind, Stack stack, int layer, const std::vector<std::int64_t>& rows) const;
  /// Bytes that all rows of a session's pass would be.
  static std::int64_t bytes_of_all(const Session& session);

 private:
  friend class WritesTap;
  using Key = std::tuple<TapKind, Stack, int>;
  std::map<Key, Tensor> writes_;
  StreamRows kept_;
};

/// A norm with mean and scale as rows had them.
class FrozenNorm {
 public:
  FrozenNorm(const NormNumbers& numbers, const Tensor& rows);  // [N, C]
  /// Of a part of those rows, without the norm's own shift.
  void apply(Tensor& part) const;
  /// Adds the norm's shift to each row.
  void add_shift(Tensor& rows) const;
  /// Of what reads the norm's rows: the same of what the norm reads. <apply(x), u> = <x, u'>.
  void apply_transposed(Tensor& u) const;

 private:
  double weight(std::int64_t c) const;

  NormNumbers numbers_;
  std::vector<double> mean_, scale_;
};

struct StreamPart {
  std::string name;
  Tensor rows;  // [N, C]
};

/// Some rows of a stream as the sum of who wrote them, from its embedding on. Norms' and layers'
/// own shifts are one part, the last.
class StreamSum {
 public:
  StreamSum(const StreamParts& stream, const Writes& writes, const Session& session,
            std::vector<std::int64_t> rows);

  /// Goes on past branches up to `end`; what the attention of branch `split` wrote is one part a
  /// head.
  void pass_branches(std::size_t end, std::optional<std::size_t> split = {});
  /// Adds the next branch's write alone, without the norm behind it.
  void pass_write() { add_write(stream_.branches[passed_++]); }
  /// Through a norm, as it was.
  void pass_norm(const NormNumbers& norm);
  /// From here on `rows` goes through the norms that the stream goes through; it is not added.
  void follow(Tensor rows) { followed_ = std::move(rows); }

  std::vector<StreamPart> parts() const;
  const Tensor& followed() const { return followed_; }
  /// What has been summed so far.
  const Tensor& total() const { return total_; }
  /// The norms that the stream itself went through, in order.
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

/// What a head writes into the stream: its output [N, Dv] through its part of the output
/// projection, without that one's shift.
Tensor head_write(const Attention& attention, int head, const Tensor& rows);

/// "attn 2", "cross 0", "MLP 1".
std::string name_of(const BranchParts& branch);

/// The stream that a place adds to, and which of its branches an attention is.
struct PlaceInStream {
  const StreamParts* stream = nullptr;
  std::size_t branch = 0;
};
PlaceInStream find_place(const ModelParts& parts, const Place& place);
/// The stream that it reads keys from, and the branches that have written there.
PlaceInStream find_keys(const ModelParts& parts, const Place& place);

/// By position of the model's words: what the head's output there adds to the logit of the word
/// that came, less the mean over all words, which moves no probability. Norms are held still as the
/// text has them, and a soft cap of the logits is left out. Behind the last token no word has come:
/// there the likeliest stands in.
struct DirectWrites {
  Place place;
  std::vector<float> logits;
};

/// Of every head whose stream the words are read from; none where the model has no words, or a
/// layer that is not linear before them. Passes of the model in pieces of the text, so that what
/// they keep stays small.
std::vector<DirectWrites> direct_writes(const Session& session, const LoadedModel& model);

}  // namespace heed
