// The `config.json` of a model to be trained.
#include "models/training_config.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/formats/json.h"
#include "base/wording.h"
#include "heed/error.h"
#include "heed/model.h"
#include "models/classifier.h"
#include "models/family.h"

namespace heed {
namespace {

// A misspelt entry would waste a training run.
void require_known(const JsonText& entries, const Config& config) {
  for (const auto& [key, value] : entries.root().members()) {
    if (config.asked().contains(key) || key == "model_type" || key == "architectures") continue;
    const std::string& wrong = key;
    const auto nearest = std::ranges::min_element(
        config.asked(), {}, [&](const std::string& known) { return edit_distance(wrong, known); });
    fail({.file = "train: model",
          .found = fmt::format("unknown key \"{}\"", key),
          .hint = fmt::format("the nearest that {} has is \"{}\"", config.text("model_type", ""),
                              *nearest)});
  }
}

// The requirements of a training task on the family, and its default family.
struct Wanted {
  TrainedFor purpose;
  const char* usual;
  std::vector<FamilyKind> kinds;
  const char* expected;
};

const Wanted& wanted_for(TrainedFor purpose) {
  using enum FamilyKind;
  static const std::vector<Wanted> kWanted = {
      {TrainedFor::kNextToken, "gpt2", {kDecoder}, "a family that predicts the next token"},
      {TrainedFor::kMaskedToken, "bert", {kEncoder}, "a family that predicts masked tokens"},
      {TrainedFor::kTranslation, "marian", {kTranslator}, "a family of encoder-decoders"},
      {TrainedFor::kTokenClasses, "bert", {kEncoder, kDecoder}, "an encoder or a decoder"},
      {TrainedFor::kTextClasses, "bert", {kEncoder, kDecoder}, "an encoder or a decoder"}};
  return *std::ranges::find(kWanted, purpose, &Wanted::purpose);
}

void check_kind(const Config& named, const Family& family, const Wanted& wanted) {
  if (std::ranges::find(wanted.kinds, family.kind) == wanted.kinds.end())
    named.refuse("model_type", fmt::format("'{}'", named.text("model_type", "")), wanted.expected,
                 ErrorCode::kUnsupported);
  if (family.training_config == nullptr)
    named.refuse(
        "model_type", fmt::format("'{}'", named.text("model_type", "")),
        "a family that heed trains, or of a model with pictures the text model alone, which "
        "`heed convert` makes of it",
        ErrorCode::kUnsupported);
}

// Adds labels and further entries to the family's own, and checks the result.
std::string completed(Json json, const Family& family, const TrainingShape& shape,
                      const JsonText& more) {
  const bool by_text = shape.trained_for == TrainedFor::kTextClasses;
  if (by_text || shape.trained_for == TrainedFor::kTokenClasses) {
    const Json members = classifier_members({shape.model_type, shape.labels, by_text});
    for (const auto& [key, value] : members.members()) json.set(key, value);
  }
  for (const auto& [key, value] : more.root().members()) json.set(key, value);
  const Config whole = Config::parse(json.dump(), "config");
  const ModelInfo info = family.describe(whole);
  const bool sees_next =
      (shape.trained_for == TrainedFor::kNextToken && !info.causal) ||
      (shape.trained_for == TrainedFor::kTranslation && !info.stacks.at(1).causal);
  if (sees_next)
    whole.refuse("is_causal", "false", "true: the next token would be seen",
                 ErrorCode::kUnsupported);
  require_known(more, whole);
  return json.dump();
}

void check_fits(const ModelInfo& info, const TrainingShape& shape) {
  const auto refuse = [](const char* argument, std::string found, std::int64_t most) {
    fail("train", argument, std::move(found), fmt::format("at most {} (start_from's)", most));
  };
  if (shape.positions > info.positions)
    refuse("block", std::to_string(shape.positions), info.positions);
  const std::int64_t read = info.reads_source() ? info.source_vocabulary : info.vocabulary;
  if (shape.vocabulary > read)
    refuse("tokenizer", fmt::format("of {}", number_of(shape.vocabulary, "token")), read);
  if (shape.target_vocabulary > info.vocabulary)
    refuse("target_tokenizer", fmt::format("of {}", number_of(shape.target_vocabulary, "token")),
           info.vocabulary);
}

}  // namespace

std::string training_config(const TrainingShape& shape, std::string_view further) {
  const Wanted& wanted = wanted_for(shape.trained_for);
  const JsonText more = JsonText::parse(std::string(further), {.file = "train: model"});
  const std::string* type = more.root()["model_type"].as_text();
  TrainingShape asked = shape;
  asked.model_type = type == nullptr ? wanted.usual : *type;
  const Config named =
      Config::parse(Json({{"model_type", asked.model_type}}).dump(), "train: model");
  const Family& family = family_of(named);
  check_kind(named, family, wanted);
  return completed(family.training_config(asked), family, asked, more);
}

std::string continued_config(const std::filesystem::path& model, const TrainingShape& shape,
                             std::string_view further) {
  const Config named = model_config(model);
  const JsonText own = JsonText::parse(named.with(Json::object()), {.file = model.string()});
  const Family& family = family_of(named);
  check_kind(named, family, wanted_for(shape.trained_for));
  TrainingShape asked = shape;
  asked.model_type = named.text("model_type", "");
  Json json = own.root();
  const Json fresh = family.training_config(asked);
  for (const auto& [key, value] : fresh.members())
    if (key.find("drop") != std::string::npos) json.set(key, value);
  std::string whole = completed(std::move(json), family, asked,
                                JsonText::parse(std::string(further), {.file = "train: model"}));
  check_fits(family.describe(Config::parse(whole, "config")), shape);
  return whole;
}

}  // namespace heed
