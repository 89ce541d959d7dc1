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

/// Makes one answer per item.
template <typename Answer, typename Item>
std::vector<Answer> answers_of(const std::vector<Item>& items) {
  std::vector<Answer> answers;
  for (const Item& item : items) answers.push_back({item});
  return answers;
}

struct TermAnswer {
  static constexpr const char* kName = "Term";
  Term term = {};
  template <typename Fields>
  void describe(Fields& field) const {
    field("name", term.name);
    field("value", term.value);
  }
};

struct SumAnswer {
  static constexpr const char* kName = "Sum";
  Sum sum = {};
  template <typename Fields>
  void describe(Fields& field) const {
    field("terms", answers_of<TermAnswer>(sum.terms));
    field("sum", sum.sum);
    field("residual", sum.residual);
  }
};

struct WhyKeyAnswer {
  static constexpr const char* kName = "WhyKey";
  WhyKey key = {};
  template <typename Fields>
  void describe(Fields& field) const {
    field("key", key.key);
    field("score", key.score);
    field("weight", key.weight);
  }
};

struct WhyBandAnswer {
  static constexpr const char* kName = "WhyBand";
  WhyBand band = {};
  template <typename Fields>
  void describe(Fields& field) const {
    field("tokens_a_turn", band.tokens_a_turn);
    field("still", band.still);
    field("turned", band.turned);
  }
};

struct WhyAnswer {
  static constexpr const char* kName = "Why";
  Why why = {};
  int kv_head = 0;
  template <typename Fields>
  void describe(Fields& field) const {
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
    field("sum", SumAnswer{why.sum});
    field("scale", why.scale);
    field("softcap", why.softcap);
    field("q", why.q);
    field("k", why.k);
    field("mean_key", why.mean_key);
    field("runner_key", why.runner_key);
    field("raw", SumAnswer{why.raw});
    field("against_mean", SumAnswer{why.against_mean});
    field("against_runner_up", SumAnswer{why.against_runner});
    field("runner_up", why.runner);
    field("keys", answers_of<WhyKeyAnswer>(why.keys));
    field("rest", RestAnswer{why.rest_count, static_cast<float>(why.rest_weight)});
    field("bands", answers_of<WhyBandAnswer>(why.bands));
    field("curve", why.curve);
  }
};

struct OriginsAnswer {
  static constexpr const char* kName = "Origins";
  Origins origins = {};
  std::string against = {};
  template <typename Fields>
  void describe(Fields& field) const {
    field("against", against);
    field("query_parts", origins.query_parts);
    field("key_parts", origins.key_parts);
    field("cells", origins.cells);
    field("sum", origins.sum);
    field("residual", origins.residual);
  }
};

struct ChangedWordAnswer {
  static constexpr const char* kName = "ChangedWord";
  Effect::Word word = {};
  template <typename Fields>
  void describe(Fields& field) const {
    field("id", word.id);
    field("text", token_text(word.bytes));
    field("change", word.change);
  }
};

struct EffectAnswer {
  static constexpr const char* kName = "Effect";
  Effect effect = {};
  template <typename Fields>
  void describe(Fields& field) const {
    field("length", effect.length);
    field("head_length", effect.head_length);
    field("cosine", effect.cosine);
    field("raised", answers_of<ChangedWordAnswer>(effect.raised));
    field("lowered", answers_of<ChangedWordAnswer>(effect.lowered));
    field("no_words",
          effect.no_words.empty() ? std::nullopt : std::optional<std::string>(effect.no_words));
  }
};

struct TrialWordAnswer {
  static constexpr const char* kName = "TrialWord";
  TrialWord word = {};
  template <typename Fields>
  void describe(Fields& field) const {
    field("id", word.id);
    field("text", token_text(word.bytes));
    field("as_it_is", word.as_it_is);
    field("edited", word.edited);
  }
};

struct TrialAnswer {
  static constexpr const char* kName = "Trial";
  Trial trial = {};
  std::string edits = {};
  template <typename Fields>
  void describe(Fields& field) const {
    field("edits", edits);
    field("position", trial.position);
    field("words", answers_of<TrialWordAnswer>(trial.words));
    field("rest_count", trial.rest_count);
    field("rest_as_it_is", trial.rest_as_it_is);
    field("rest_edited", trial.rest_edited);
    field("moved", trial.moved);
    field("text_moved", trial.text_moved);
  }
};

struct AnatomyAnswer {
  static constexpr const char* kName = "Anatomy";
  Anatomy anatomy = {};
  template <typename Fields>
  void describe(Fields& field) const {
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
};

struct DimensionsKeyAnswer {
  static constexpr const char* kName = "DimensionsKey";
  DimensionsKey key = {};
  template <typename Fields>
  void describe(Fields& field) const {
    field("key", key.key);
    field("visible", key.visible);
    field("product", key.product);
    field("score", key.score);
    field("weight", key.weight);
    field("k", key.k);
    field("terms", key.terms);
  }
};

struct DimensionsAnswer {
  static constexpr const char* kName = "Dimensions";
  Dimensions dimensions = {};
  template <typename Fields>
  void describe(Fields& field) const {
    describe_place(field, dimensions.place);
    field("query", dimensions.query);
    field("scale", dimensions.scale);
    field("q", dimensions.q);
    field("spread", dimensions.spread);
    field("keys", answers_of<DimensionsKeyAnswer>(dimensions.keys));
    field("of", dimensions.of);
    field("rest", RestAnswer{dimensions.rest_count, dimensions.rest_weight});
  }
};

struct PlaneQueryAnswer {
  static constexpr const char* kName = "PlaneQuery";
  PlaneQuery query = {};
  template <typename Fields>
  void describe(Fields& field) const {
    field("query", query.query);
    field("x", query.x);
    field("y", query.y);
  }
};

struct PlaneKeyAnswer {
  static constexpr const char* kName = "PlaneKey";
  PlaneKey key = {};
  template <typename Fields>
  void describe(Fields& field) const {
    field("key", key.key);
    field("x", key.x);
    field("y", key.y);
    field("product", key.product);
    field("weight", key.weight);
  }
};

struct GeometryAnswer {
  static constexpr const char* kName = "Geometry";
  Geometry plane = {};
  template <typename Fields>
  void describe(Fields& field) const {
    describe_place(field, plane.place);
    field("query", plane.query);
    field("turned", plane.turned);
    field("queries", answers_of<PlaneQueryAnswer>(plane.queries));
    field("keys", answers_of<PlaneKeyAnswer>(plane.keys));
    field("other_queries", plane.other_queries);
    field("other_keys", plane.other_keys);
    field("mean", plane.mean);
    field("shares", plane.shares);
    field("explained", plane.explained);
  }
};

}  // namespace heed
