// `heed look` in the terminal, also with --flow and --why.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal/terminal.h"
#include "heed/look.h"
#include "heed/model.h"
#include "inspect/evidence/flow_effects.h"

namespace heed::cli {

inline constexpr int kIndexEnd = 4;   // row indices end here
inline constexpr int kWhoColumn = 6;  // their tokens begin here

/// Tokens in the terminal: without outer spaces, one short line each.
class TokenNames {
 public:
  /// Shows a piece of a word inside its word, as in `B[ob]`.
  TokenNames(const Terminal& terminal, const Look& look);

  const std::string& query(std::int64_t index) const;
  /// In cross-attention, the word that the query's row outputs; else empty.
  std::string_view written(std::int64_t query) const;
  const std::string& key(std::int64_t index) const;
  /// ` 12` for a key that occurs twice, else empty.
  const std::string& mark(std::int64_t key) const;
  /// Width of a key with its mark, in cells.
  int width(std::int64_t key) const;

  /// For sentences: puts tokens that are not words in quotation marks.
  std::string quoted_query(std::int64_t index) const { return quoted(query(index)); }
  std::string quoted_key(std::int64_t index) const { return quoted(key(index)); }
  static std::string quoted(const std::string& shown);

  static std::string shown(const Terminal& terminal, const std::string& bytes);

 private:
  bool writes_ = false;
  std::vector<std::string> queries_;
  std::vector<std::string> keys_;
  std::vector<std::string> marks_;
};

struct LookTextOptions {
  std::int64_t top = 3;                                 // as requested
  std::string all_rows = "--rows all shows every one";  // if rows are hidden
  std::string who = {};                                 // the requested words, if cells are shown
  std::string to = {};
  bool layer_given = false, head_given = false;
};

/// What heed chose and why; empty if layer and head were given.
std::string choice_text(const Terminal& terminal, const Look& look, const LookTextOptions& options);

/// Model, attention, heads, next word.
std::string look_text(const Terminal& terminal, const Look& look, const LookTextOptions& options);

/// The cells of `--who` and `--to`: one in detail, or a table of several.
std::string cells_text(const Terminal& terminal, const Look& look, const LookTextOptions& options);

/// The columns of `--to` without `--who`: the queries that attend to the word, largest weights
/// first.
std::string columns_text(const Terminal& terminal, const Look& look,
                         const LookTextOptions& options = {});

/// The parts of look_text, in rows_text.cpp and heads_text.cpp.
std::string rows_text(const Terminal& terminal, const Look& look, const LookTextOptions& options);
std::string heads_text(const Terminal& terminal, const Look& look);

struct FlowOptions {
  FlowRequest flow;
  bool by_effect = false;
  std::string format;    // text, json, graphml or dot
  std::int64_t top = 8;  // number of tokens and paths listed
};

/// The graph as a file; as text: shares, paths, and how far to trust them.
std::string look_flow(const Terminal& terminal, const Session& session, const LoadedModel& model,
                      const FlowOptions& options);

/// One weight of one head.
struct WhyCell {
  ChosenHead head;
  std::int64_t query = 0, key = 0;
};

/// The score as a sum, by dimension, compared with its row; the effect of its value; the run
/// without it. `choice`, the lines that say why heed chose the head, follows the title.
std::string why_text(const Terminal& terminal, const Session& session, const LoadedModel& model,
                     const WhyCell& cell, const std::string& choice);

/// The same JSON as the server's `why`.
std::string why_json(const Session& session, const LoadedModel& model, const WhyCell& cell);

}  // namespace heed::cli
