// How the model would continue after another word: a branch of the text.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "heed/generate.h"
#include "heed/session.h"

namespace heed {

struct BranchRequest {
  std::int64_t position = 0;  // the text up to and including this token is kept
  TokenId word = 0;           // followed by this word
  std::int64_t most_tokens = 27;
};

/// Throws kUnsupported if the session's pass was edited.
void require_unedited(const char* op, const Session& session);

struct BranchToken {
  GeneratedToken token;
  std::string bytes;
};

/// Generated word by word: the likeliest token under the penalties and rules of the model's folder;
/// the first one is the requested word. Ends at a line end, at the model's end token, at a stop
/// string of the folder, or at the token limit.
class Branch {
 public:
  /// The session and the model must outlive it. Errors: a model that does not generate
  /// (kUnsupported), an invalid position or word, a model without a further position.
  Branch(const Session& session, const LoadedModel& model, const BranchRequest& request);
  ~Branch();

  /// The next token; empty once the branch has ended.
  std::optional<BranchToken> next();
  /// "line", "end", "stop", "length" or "positions", once it has ended.
  std::string_view ended() const { return ended_; }
  std::int64_t tokens() const { return tokens_; }
  /// The mean of -log2 p over all tokens of the branch.
  double bits_a_token() const;

 private:
  std::optional<BranchToken> taken(const GeneratedToken& token);

  const Session& session_;
  const ModelInfo& info_;
  BranchRequest request_;
  GenerateListener silence_;
  std::optional<GeneratedToken> first_;
  std::unique_ptr<Generation> generation_;
  std::string_view ended_;
  std::int64_t tokens_ = 0;
  double bits_ = 0;
};

}  // namespace heed
