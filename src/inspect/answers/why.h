// Why a weight has its value, which edits a session has, and what one edit would change.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "inspect/answers/fields.h"
#include "inspect/answers/rows.h"
#include "inspect/evidence/anatomy.h"
#include "inspect/evidence/dimensions.h"
#include "inspect/evidence/geometry.h"
#include "inspect/evidence/origins.h"
#include "inspect/evidence/trial.h"
#include "inspect/evidence/why.h"

namespace heed {

void describe(auto& field, const Term& term) {
  field("name", term.name);
  field("value", term.value);
}

void describe(auto& field, const Sum& sum) {
  field("terms", sum.terms);
  field("sum", sum.sum);
  field("residual", sum.residual);
}

void describe(auto& field, const WhyKey& key) {
  field("key", key.key);
  field("score", key.score);
  field("weight", key.weight);
}

void describe(auto& field, const WhyBand& band) {
  field("tokens_a_turn", band.tokens_a_turn);
  field("still", band.still);
  field("turned", band.turned);
}

struct WhyAnswer {
  Why why = {};
  int kv_head = 0;
  void describe(auto& field) const {
    describe_place(field, why.place);
    field("kv_head", kv_head);
    field("query", why.query);
    field("key", why.key);
    field("visible", why.visible);
    field("score", why.score);
    field("lse", why.lse);
    field("weight", why.weight);
    field("rank", why.rank);
    field("of", why.of);
    field("sum", why.sum);
    field("scale", why.scale);
    field("softcap", why.softcap);
    field("q", why.q);
    field("k", why.k);
    field("mean_key", why.mean_key);
    field("runner_key", why.runner_key);
    field("raw", why.raw);
    field("against_mean", why.against_mean);
    field("against_runner_up", why.against_runner);
    field("runner_up", why.runner);
    field("keys", why.keys);
    field("rest", RestAnswer{why.rest_count, static_cast<float>(why.rest_weight)});
    field("bands", why.bands);
    field("curve", why.curve);
  }
};

struct OriginsAnswer {
  Origins origins = {};
  std::string against = {};
  void describe(auto& field) const {
    field("against", against);
    field("query_parts", origins.query_parts);
    field("key_parts", origins.key_parts);
    field("cells", origins.cells);
    field("sum", origins.sum);
    field("residual", origins.residual);
  }
};

void describe(auto& field, const ChangedWord& word) {
  field("id", word.id);
  field("text", token_text(word.bytes));
  field("change", word.change);
}

void describe(auto& field, const Effect& effect) {
  field("length", effect.length);
  field("head_length", effect.head_length);
  field("cosine", effect.cosine);
  field("raised", effect.raised);
  field("lowered", effect.lowered);
  field("no_words",
        effect.no_words.empty() ? std::nullopt : std::optional<std::string>(effect.no_words));
}

void describe(auto& field, const TrialWord& word) {
  field("id", word.id);
  field("text", token_text(word.bytes));
  field("as_it_is", word.as_it_is);
  field("edited", word.edited);
}

struct TrialAnswer {
  Trial trial = {};
  std::string edits = {};
  void describe(auto& field) const {
    field("edits", edits);
    field("position", trial.position);
    field("words", trial.words);
    field("rest_count", trial.rest_count);
    field("rest_as_it_is", trial.rest_as_it_is);
    field("rest_edited", trial.rest_edited);
    field("moved", trial.moved);
    field("text_moved", trial.text_moved);
  }
};

void describe(auto& field, const Anatomy& anatomy) {
  describe_place(field, anatomy.place);
  field("kv_head", anatomy.kv_head);
  field("query_begin", anatomy.query_begin);
  field("key_begin", anatomy.key_begin);
  field("x", anatomy.x);
  field("key_x", anatomy.key_x);
  field("q", anatomy.q);
  field("k", anatomy.k);
  field("v", anatomy.v);
  field("visible", anatomy.visible);
  field("bias", anatomy.bias);
  field("scale", anatomy.scale);
  field("softcap", anatomy.softcap);
  field("lse", anatomy.lse);
  field("turned", anatomy.turned);
  field("up", anatomy.up);
  field("form", anatomy.form);
}

void describe(auto& field, const DimensionsKey& key) {
  field("key", key.key);
  field("visible", key.visible);
  field("product", key.product);
  field("score", key.score);
  field("weight", key.weight);
  field("k", key.k);
  field("terms", key.terms);
}

void describe(auto& field, const Dimensions& dimensions) {
  describe_place(field, dimensions.place);
  field("query", dimensions.query);
  field("scale", dimensions.scale);
  field("q", dimensions.q);
  field("spread", dimensions.spread);
  field("keys", dimensions.keys);
  field("of", dimensions.of);
  field("rest", RestAnswer{dimensions.rest_count, dimensions.rest_weight});
}

void describe(auto& field, const PlaneQuery& query) {
  field("query", query.query);
  field("x", query.x);
  field("y", query.y);
}

void describe(auto& field, const PlaneKey& key) {
  field("key", key.key);
  field("x", key.x);
  field("y", key.y);
  field("product", key.product);
  field("weight", key.weight);
}

void describe(auto& field, const Geometry& plane) {
  describe_place(field, plane.place);
  field("query", plane.query);
  field("turned", plane.turned);
  field("queries", plane.queries);
  field("keys", plane.keys);
  field("other_queries", plane.other_queries);
  field("other_keys", plane.other_keys);
  field("mean", plane.mean);
  field("shares", plane.shares);
  field("explained", plane.explained);
}

}  // namespace heed
