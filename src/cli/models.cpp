// heed models: what is built in and what was found.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "heed/models/registry.h"

namespace heed::cli {
namespace {

std::string as_json(const std::vector<FoundModel>& found) {
  auto list = nlohmann::ordered_json::array();
  for (const FoundModel& model : found)
    list.push_back({{"name", model.name},
                    {"folder", model.folder.string()},
                    {"built_in", model.built_in},
                    {"about", card_line(model.folder)}});
  return list.dump(2) + "\n";
}

std::string as_text(const std::vector<FoundModel>& found) {
  if (found.empty())
    return "no models in $HEED_MODELS, ./models, $HF_HOME/hub or beside the program\n";
  std::size_t width = 0;
  for (const FoundModel& model : found) width = std::max(width, model.name.size());
  const Terminal terminal = detect_terminal("auto");
  std::string text;
  for (const FoundModel& model : found) {
    Line line(terminal);
    line.put(model.name, Style::kBold).to(static_cast<int>(width) + 2);
    line.put(model.built_in ? "built in" : "").to(static_cast<int>(width) + 12);
    text += line.put(model.folder.string(), Style::kDim).str();
    text += paragraph(terminal, displayable(card_line(model.folder)), 2);
  }
  return text;
}

Run add(CLI::App& app) {
  const auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "print as JSON");
  return [json] {
    const std::vector<FoundModel> found = list_models();
    print(*json ? as_json(found) : as_text(found));
    return 0;
  };
}

}  // namespace

Command models_command() {
  return {"models", "what is built in and what was found",
          "  heed models\n"
          "  HEED_MODELS=/data/models heed models --json",
          add};
}

}  // namespace heed::cli
