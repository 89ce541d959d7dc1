// heed models: lists the built-in and found models, or describes one.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/formats/json.h"
#include "base/wording.h"
#include "cli/command.h"
#include "cli/look/ranking.h"
#include "cli/options/option.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "heed/look.h"
#include "heed/model.h"
#include "inspect/session/places.h"
#include "models/search_path.h"

namespace heed::cli {
namespace {

Json as_json(const FoundModel& model) {
  return {{"name", model.name},
          {"folder", model.folder.string()},
          {"built_in", model.built_in},
          {"by_name", model.by_name},
          {"about", card_line(model.folder)}};
}

void add_shape(Json& json, const ModelInfo& info, std::int64_t parameters) {
  json.set("family", info.family);
  json.set("layers", info.layers);
  json.set("heads", info.heads);
  json.set("width", info.width);
  json.set("vocabulary", info.vocabulary);
  json.set("positions", info.positions);
  json.set("parameters", parameters);
}

// "Llama (llama): 1.1 M parameters in bf16, 4 layers x 8 heads on 4 kv, width 64, 512 positions,
// vocabulary 512".
std::string shape_text(const ModelSummary& summary) {
  const ModelInfo& info = summary.info;
  std::string stacks;
  for (const StackShape& stack : info.stacks) {
    if (!stacks.empty()) stacks += ", ";
    if (stack.stack != Stack::kSelf) stacks += fmt::format("{} ", stack_name(stack.stack));
    stacks += heads_text(stack);
    if (stack.kv_heads != stack.heads) stacks += fmt::format(" on {} kv", stack.kv_heads);
  }
  const double millions = static_cast<double>(summary.parameters) * 1e-6;
  return fmt::format("{} ({}): {:.{}f} M parameters{}{}, {}, width {}, {}, vocabulary {}",
                     info.title, info.family, millions, millions < 10 ? 2 : 0,
                     summary.stored_in.empty() ? "" : " in ", summary.stored_in, stacks, info.width,
                     number_of(info.positions, "position"), info.vocabulary);
}

std::string as_json(const std::vector<FoundModel>& found) {
  auto list = Json::array();
  for (const FoundModel& model : found) {
    Json entry = as_json(model);
    if (const auto summary = describe_model(model.folder)) {
      add_shape(entry, summary->info, summary->parameters);
      entry.set("stored_in", summary->stored_in);
    }
    entry.set("problem", why_not_loaded(model.folder));
    list.push(std::move(entry));
  }
  return list.dump(2) + "\n";
}

std::string as_text(const Terminal& terminal, const FoundModel& model, std::size_t width) {
  Line line(terminal);
  line.put(model.name, Style::kBold).to(static_cast<int>(width) + 2);
  line.put(model.built_in ? "built in" : "").to(static_cast<int>(width) + 12);
  std::string text = terminal.cuts() ? line.str() + paragraph(terminal, model.folder.string(), 2)
                                     : line.put(model.folder.string(), Style::kDim).str();
  if (!model.by_name)
    text += paragraph(terminal,
                      fmt::format("--model {} is the one above; this one is {}", model.name,
                                  model.built_in ? "used without --model" : "named by its folder"),
                      2);
  if (const std::string problem = why_not_loaded(model.folder); !problem.empty())
    text += fmt::format("  problem: {}\n", displayable(problem));  // may contain a command
  text += paragraph(terminal, displayable(card_line(model.folder)), 2);
  if (const auto summary = describe_model(model.folder))
    text += paragraph(terminal, shape_text(*summary), 2);
  return text;
}

std::string as_text(const std::vector<FoundModel>& found) {
  if (found.empty())
    return "no models in $HEED_MODELS, ./models, the stores of Hugging Face, Ollama, LM Studio and "
           "llama.cpp or beside the program\n";
  std::size_t width = 0;
  for (const FoundModel& model : found) width = std::max(width, model.name.size());
  const Terminal terminal = detect_terminal("auto");
  std::string text;
  for (const FoundModel& model : found) text += as_text(terminal, model, width);
  return text;
}

struct Found {
  Probe probe;
  std::vector<PronounHead> pronouns = {};  // if requested
};

Json as_json(const std::vector<PronounHead>& heads) {
  Json list = Json::array();
  for (const PronounHead& head : heads)
    list.push({{"layer", head.place.layer},
               {"head", head.place.head},
               {"right", head.right},
               {"noun", head.noun},
               {"other", head.other}});
  return list;
}

std::string as_json(const LoadedModel& loaded, const Found& found) {
  const Probe& probe = found.probe;
  const ModelInfo& info = loaded.model->info();
  Json json = as_json(FoundModel{loaded.name, loaded.folder, loaded.built_in});
  add_shape(json, info, parameter_count(*loaded.model));
  Json heads = Json::array();
  for (const ProbedHead& head : probe.heads) {
    Json entry = {{"layer", head.layer},         {"head", head.head},
                  {"previous", head.previous},   {"sink", head.sink},
                  {"duplicate", head.duplicate}, {"induction", head.induction}};
    if (!info.causal) entry.set("next", head.next);
    heads.push(std::move(entry));
  }
  Json& answer = json.set(
      "probe",
      {{"period", probe.period}, {"sequences", probe.sequences}, {"heads", std::move(heads)}});
  if (info.stacks.size() > 1)
    answer.set("stack", std::string(stack_name(info.stacks.front().stack)));
  if (info.causal && info.has_logits) {
    answer.set("loss_first", probe.loss_first);
    answer.set("loss_repeated", probe.loss_repeated);
  }
  if (!found.pronouns.empty()) json.set("pronouns", as_json(found.pronouns));
  return json.dump(2) + "\n";
}

std::string heads_text(const Terminal& terminal, const Probe& probe, const ModelInfo& info) {
  const StackShape& stack = info.stacks.front();  // the one that is probed
  HeadsTable table{
      .title = info.stacks.size() > 1 ? fmt::format("Heads of the {}", stack_name(stack.stack))
                                      : "Heads",
      .explanation = fmt::format("on {} random sequences of {}, each written twice; largest "
                                 "score of each, mean over the second half",
                                 probe.sequences, number_of(probe.period, "token")),
      .legend = {"p previous", "s sink", "d duplicate", "i induction"},
      .note = kNoName,
      .heads = stack.heads};
  if (!stack.causal) table.legend.insert(table.legend.begin() + 1, "n next");
  for (const ProbedHead& head : probe.heads) {
    const std::array<NamedScore, 5> scores = {{{"prev", 'p', head.previous},
                                               {"next", 'n', head.next},
                                               {"sink", 's', head.sink},
                                               {"dup", 'd', head.duplicate},
                                               {"induc", 'i', head.induction}}};
    table.entries.push_back(head_entry(head.layer, scores));
  }
  return heads_table(terminal, table);
}

// "L3.H1 98 % (.61)": the heads that find the most nouns, and the weight they give them.
std::string pronouns_text(const Terminal& terminal, std::vector<PronounHead> heads) {
  constexpr std::size_t kShown = 5;
  std::ranges::stable_sort(heads, std::greater(), [](const PronounHead& head) {
    return std::pair(head.right, head.noun - head.other);
  });
  heads.resize(std::min(heads.size(), kShown));
  std::string best;
  for (const PronounHead& head : heads)
    best += fmt::format("{}{} in {:.0f} % (weight {:.2f}, the other {:.2f})",
                        best.empty() ? "" : "; ", head_name(head.place.layer, head.place.head),
                        100 * head.right, head.noun, head.other);
  return "\n" + heading(terminal, "Pronouns",
                        "heads that attend more to the noun of she or he than to the other person, "
                        "in generated sentences with one of each: " +
                            best);
}

std::string as_text(const LoadedModel& loaded, const Found& found) {
  const Probe& probe = found.probe;
  const Terminal terminal = detect_terminal("auto");
  const ModelInfo& info = loaded.model->info();
  std::string text =
      as_text(terminal, {loaded.name, loaded.folder, loaded.built_in}, loaded.name.size());
  text += "\n";
  text += heads_text(terminal, probe, info);
  if (info.causal && info.has_logits)
    text +=
        "\n" + heading(terminal, "Loss on these",
                       fmt::format("{:.2f} nats per token in the first half, {:.2f} in the second; "
                                   "random tokens are unpredictable, so the first is high in any "
                                   "model, but a head that copies what followed the last time "
                                   "(induction) makes the second lower",
                                   probe.loss_first, probe.loss_repeated));
  if (!found.pronouns.empty()) text += pronouns_text(terminal, found.pronouns);
  return text;
}

struct ModelsOptions {
  std::string name;
  bool pronouns = false;
  bool json = false;
};

int run(const ModelsOptions& options) {
  if (options.name.empty()) {
    const std::vector<FoundModel> found = list_models();
    print(options.json ? as_json(found) : as_text(found));
    return 0;
  }
  const LoadedModel loaded = load_model(find_model(options.name));
  Found found = {.probe = probe_heads(loaded)};
  if (options.pronouns) found.pronouns = probe_pronouns(loaded);
  print(options.json ? as_json(loaded, found) : as_text(loaded, found));
  return 0;
}

Run declare_models(OptionList& list) {
  const auto options = std::make_shared<ModelsOptions>();
  add(list,
      {{.name = "NAME",
        .to = &options->name,
        .help = "a folder or a name: its shape, and what its heads do on repeated random tokens"},
       {.name = "--pronouns",
        .to = &options->pronouns,
        .help = "also the heads that attend from she and he to their nouns, in 200 generated "
                "sentences"},
       threads_option()});
  add_json_options(list, options->json);
  return [options](const Given& given) {
    given.require_beside({"--threads", "--pronouns"}, !options->name.empty(), "NAME");
    return run(*options);
  };
}

}  // namespace

Command models_command() {
  return {"models", "the models that are built in or found; or one of them and what its heads do",
          "  heed models\n"
          "  heed models tales\n"
          "  heed models tales --pronouns\n"
          "  HEED_MODELS=my-models heed models --json",
          declare_models};
}

}  // namespace heed::cli
