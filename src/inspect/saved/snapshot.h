// The content of a saved page, which replaces a server: a session's answers, and Q, K and lse of
// each head, from which every weight follows.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "inspect/answers/heads.h"
#include "inspect/answers/models.h"
#include "inspect/answers/session.h"

namespace heed {

/// A head stored by weights: the largest of each row, in key order.
struct HeldWeightsAnswer {
  std::optional<std::int64_t> largest = {};  // how many are listed per row; empty: all
  std::string counts = {}, begins = {},
              ends = {};              // u16 per row: the visible keys, including unlisted ones
  std::string rests = {};             // f32 per row: the sum of the unlisted weights
  std::string keys = {}, codes = {};  // u16 per entry
  void describe(auto& field) const {
    HEED_FIELDS(field, largest, counts, begins, ends, rests, keys, codes);
  }
};

struct HeldHeadAnswer {
  int head = 0, group = 0;
  double scale = 0;
  std::string q = {}, lse = {}, received = {}, keys_in_use = {};  // base64 of little-endian numbers
  Nullable<double> row_sum_error = {};
  std::optional<std::string> overview = {};       // the whole matrix in one tile, if it is larger
  std::optional<HeldWeightsAnswer> weights = {};  // replaces scale, q and lse
  void describe(auto& field) const {
    HEED_FIELDS(field, head, group, scale, q, lse, received, keys_in_use, row_sum_error, overview,
                weights);
  }
};

struct HeldLayerAnswer {
  Stack stack = Stack::kSelf;
  int layer = 0;
  std::int64_t dim = 0;
  std::string begins = {}, ends = {};            // the keys that each query may see
  std::map<std::string, std::string> keys = {};  // K by group
  std::vector<HeldHeadAnswer> heads = {};
  void describe(auto& field) const {
    HEED_FIELDS(field, stack, layer, dim, begins, ends, keys, heads);
  }
};

/// One question about words or flows, with its answer.
struct HeldAnswer {
  std::string question = {}, answer = {};
  void describe(auto& field) const { HEED_FIELDS(field, question, answer); }
};

/// The thumbnails of heads that the file does not contain.
struct HeldAtlasAnswer {
  Stack stack = Stack::kSelf;
  std::int64_t block = 0, rows = 0, columns = 0;
  std::map<std::string, std::string> heads = {};  // by layer x heads + head
  void describe(auto& field) const { HEED_FIELDS(field, stack, block, rows, columns, heads); }
};

/// A file's content for one session.
struct HeldSessionAnswer {
  SessionAnswer session = {};
  ChosenAnswer chosen = {};
  std::vector<LayerHeadsAnswer> scores = {};
  std::vector<NextAnswer> next = {};
  std::vector<HeldLayerAnswer> held = {};
  std::vector<HeldAtlasAnswer> atlas = {};
  void describe(auto& field) const {
    HEED_FIELDS(field, session, chosen, scores, next, held, atlas);
  }
};

struct SnapshotAnswer {
  ModelsAnswer about = {};
  std::string view = {};
  HeldSessionAnswer own = {};                       // its fields are inlined here
  std::map<std::string, std::string> answers = {};  // about words and flows (held_answers.h)
  std::optional<HeldSessionAnswer> edited = {};     // the other side of a comparison
  void describe(auto& field) const {
    HEED_FIELDS(field, about, view);
    own.describe(field);
    field.list("answers", answers,
               [](const auto& answer) { return HeldAnswer{answer.first, answer.second}; });
    field("edited", edited);
  }
};

}  // namespace heed
