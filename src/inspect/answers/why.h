// Why a weight has its value, which edits a session has, what one edit would change, and how
// information flows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "inspect/answers/fields.h"
#include "inspect/answers/heads.h"
#include "inspect/answers/rows.h"
#include "inspect/evidence/anatomy.h"
#include "inspect/evidence/flow.h"
#include "inspect/evidence/flow_effects.h"
#include "inspect/evidence/geometry.h"
#include "inspect/evidence/origins.h"
#include "inspect/evidence/trial.h"
#include "inspect/evidence/why.h"

namespace heed {

void describe(auto& field, const Term& term) { HEED_FIELDS(field, term.name, term.value); }

void describe(auto& field, const Sum& sum) { HEED_FIELDS(field, sum.terms, sum.sum, sum.residual); }

void describe(auto& field, const WhyKey& key) {
  HEED_FIELDS(field, key.key, key.score, key.weight);
}

void describe(auto& field, const WhyBand& band) {
  HEED_FIELDS(field, band.tokens_a_turn, band.still, band.turned);
}

struct WhyAnswer {
  Why why = {};
  int kv_head = 0;
  void describe(auto& field) const {
    describe_place(field, why.place);
    HEED_FIELDS(field, kv_head, why.query, why.key, why.visible, why.score, why.lse, why.weight,
                why.rank, why.of, why.sum, why.scale, why.softcap, why.q, why.k, why.mean_key,
                why.runner_key, why.raw, why.against_mean);
    field("against_runner_up", why.against_runner);
    field("runner_up", why.runner);
    field("keys", why.keys);
    field("rest", RestAnswer{why.rest_count, static_cast<float>(why.rest_weight)});
    HEED_FIELDS(field, why.bands, why.curve);
  }
};

struct OriginsAnswer {
  Origins origins = {};
  std::string against = {};
  void describe(auto& field) const {
    HEED_FIELDS(field, against, origins.query_parts, origins.key_parts, origins.cells, origins.sum,
                origins.residual);
  }
};

void describe(auto& field, const ChangedWord& word) {
  field("id", word.id);
  field("text", token_text(word.bytes));
  field("change", word.change);
}

void describe(auto& field, const Effect& effect) {
  HEED_FIELDS(field, effect.length, effect.head_length, effect.cosine, effect.raised,
              effect.lowered);
  field("no_words",
        effect.no_words.empty() ? std::nullopt : std::optional<std::string>(effect.no_words));
}

void describe(auto& field, const TrialWord& word) {
  field("id", word.id);
  field("text", token_text(word.bytes));
  HEED_FIELDS(field, word.as_it_is, word.edited);
}

struct TrialAnswer {
  Trial trial = {};
  std::string edits = {};
  void describe(auto& field) const {
    HEED_FIELDS(field, edits, trial.position, trial.words, trial.rest_count, trial.rest_as_it_is,
                trial.rest_edited, trial.moved, trial.text_moved);
  }
};

void describe(auto& field, const Anatomy& anatomy) {
  describe_place(field, anatomy.place);
  HEED_FIELDS(field, anatomy.kv_head, anatomy.query_begin, anatomy.key_begin, anatomy.x,
              anatomy.key_x, anatomy.q, anatomy.k, anatomy.v, anatomy.visible, anatomy.bias,
              anatomy.scale, anatomy.softcap, anatomy.lse, anatomy.turned, anatomy.gates,
              anatomy.up, anatomy.form);
}

void describe(auto& field, const DimensionsKey& key) {
  HEED_FIELDS(field, key.key, key.visible, key.product, key.score, key.weight, key.k, key.terms);
}

void describe(auto& field, const Dimensions& dimensions) {
  describe_place(field, dimensions.place);
  HEED_FIELDS(field, dimensions.query, dimensions.scale, dimensions.q, dimensions.spread,
              dimensions.keys, dimensions.of);
  field("rest", RestAnswer{dimensions.rest_count, dimensions.rest_weight});
}

void describe(auto& field, const PlaneQuery& query) {
  HEED_FIELDS(field, query.query, query.x, query.y);
}

void describe(auto& field, const PlaneKey& key) {
  HEED_FIELDS(field, key.key, key.x, key.y, key.product, key.weight);
}

void describe(auto& field, const Geometry& plane) {
  describe_place(field, plane.place);
  HEED_FIELDS(field, plane.query, plane.turned, plane.queries, plane.keys, plane.other_queries,
              plane.other_keys, plane.mean, plane.shares, plane.explained);
}

/// A line before the answer, with the progress of the work.
struct FlowProgressAnswer {
  FlowWork work = FlowWork::kLayers;
  std::int64_t done = 0, of = 0;
  void describe(auto& field) const {
    constexpr const char* kNames[] = {"layers", "edges", "hidden", "removed"};
    field("working", std::string(kNames[static_cast<std::size_t>(work)]));
    HEED_FIELDS(field, done, of);
  }
};

void describe(auto& field, const FlowColumn& column) {
  HEED_FIELDS(field, column.begin, column.end, column.share);
}

void describe(auto& field, const FlowEdge& edge) {
  HEED_FIELDS(field, edge.from, edge.to, edge.share);
}

struct FlowRestAnswer {
  std::int64_t count = 0;
  double share = 0;
  void describe(auto& field) const { HEED_FIELDS(field, count, share); }
};

void describe(auto& field, const FlowLayer& layer) {
  HEED_FIELDS(field, layer.stack, layer.layer, layer.edges);
  field("rest", FlowRestAnswer{layer.rest_count, layer.rest_share});
  field("shares", layer.shares);
}

void describe(auto& field, const FlowPath& path) { HEED_FIELDS(field, path.nodes, path.share); }

struct FlowAnswer {
  std::string by = {};
  Flow flow = {};
  std::optional<std::int64_t> tried = {};  // by effect: edges removed one after the other
  void describe(auto& field) const {
    HEED_FIELDS(field, flow.request.stack, flow.request.position, by, tried, flow.tokens,
                flow.source, flow.shares, flow.columns, flow.layers, flow.paths, flow.others,
                flow.way, flow.way_share, flow.sum_error);
  }
};

struct HiddenTokenAnswer {
  HiddenToken hidden = {};
  bool has_word = false;
  void describe(auto& field) const {
    HEED_FIELDS(field, hidden.node, hidden.share, hidden.effect);
    field("probability", has_word ? std::optional<double>(hidden.probability) : std::nullopt);
  }
};

struct FlowTestAnswer {
  Stack stack = Stack::kSelf;
  std::int64_t position = 0;
  std::optional<WordAnswer> word = {};  // the word whose log-probability is measured
  std::vector<HiddenTokenAnswer> hidden = {};
  std::int64_t not_hidden = 0;
  Nullable<double> rank_correlation = {};
  void describe(auto& field) const {
    HEED_FIELDS(field, stack, position, word, hidden, not_hidden, rank_correlation);
  }
};

enum class GraphFormat : std::uint8_t { kJson, kGraphMl, kDot };

/// Nodes are columns at a level ("5:199": token 199 after the fifth layer; "0:199": the token
/// itself). Edges go upward, with the flow's share as `weight`; `by` names its meaning. JSON is
/// networkx's node-link form.
std::string flow_graph(const Flow& flow, const Session& session, std::string_view by,
                       GraphFormat format);

}  // namespace heed
