#include "text/pipeline/frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace heed {
namespace {

FramePart special(TokenId id, std::int32_t type = 0) { return {.ids = {id}, .type = type}; }

// "cls": ["[CLS]", 101]
TokenId named_id(const TokenizerFile& file, const Json& component, std::string_view name) {
  const auto parts = component[name].items();
  const TokenId id = parts.size() == 2 ? id_of(parts[1]) : -1;
  if (id < 0)
    file.refuse(component[name], fmt::format("post_processor.{}", name),
                "a list of a piece and its id");
  return id;
}

// BERT marks the second text by its type, RoBERTa by one more separator before it.
Frame read_bert(const TokenizerFile& file, const Json& component, bool is_roberta) {
  const FramePart begin = special(named_id(file, component, "cls"));
  const TokenId sep = named_id(file, component, "sep");
  const FramePart end = special(sep), text = {.text = 0};
  Frame frame = {.one = {begin, text, end}};
  if (is_roberta)
    frame.two = {begin, text, end, end, {.text = 1}, end};
  else
    frame.two = {begin, text, end, {.text = 1, .type = 1}, special(sep, 1)};
  return frame;
}

std::vector<TokenId> ids_of(const TokenizerFile& file, const Json& component, const Json& item) {
  const std::string* name = item["id"].as_text();
  const Json& ids = component["special_tokens"][name == nullptr ? "" : *name]["ids"];
  std::vector<TokenId> result;
  for (const Json& id : ids.items()) result.push_back(id_of(id));
  if (result.empty() || std::ranges::find(result, -1) != result.end())
    file.refuse(ids,
                fmt::format("post_processor.special_tokens.{}.ids", name == nullptr ? "?" : *name),
                "a list of ids");
  return result;
}

// A template contains its texts A and B once each.
std::vector<FramePart> read_template(const TokenizerFile& file, const Json& component,
                                     std::string_view member, int texts) {
  const std::string argument = fmt::format("post_processor.{}", member);
  std::vector<FramePart> parts;
  for (const Json& item : file.list(component[member], argument)) {
    const Json& of_text = item["Sequence"];
    const Json& of_token = item["SpecialToken"];
    const auto type = (of_text.is_null() ? of_token : of_text)["type_id"].as_integer().value_or(0);
    FramePart part = {.type = static_cast<std::int32_t>(type)};
    if (of_text.is_null()) {
      part.ids = ids_of(file, component, of_token);
    } else {
      part.text = of_text["id"] == Json("B") ? 1 : 0;
    }
    parts.push_back(std::move(part));
  }
  for (int text = 0; text < texts; ++text)
    if (std::ranges::count(parts, text, &FramePart::text) != 1)
      file.refuse(component[member], argument,
                  texts == 1 ? "a template with one Sequence, A"
                             : "a template with the Sequences A and B, each once");
  return parts;
}

Frame read_templates(const TokenizerFile& file, const Json& component) {
  Frame frame = {.one = read_template(file, component, "single", 1)};
  if (!component["pair"].items().empty()) frame.two = read_template(file, component, "pair", 2);
  return frame;
}

// ByteLevel only changes offsets; ours are already exact.
std::optional<Frame> read_part(const TokenizerFile& file, const Json& component) {
  const std::string type = type_name(component);
  if (type == "null" || type == "ByteLevel") return {};
  if (type == "TemplateProcessing") return read_templates(file, component);
  if (type == "BertProcessing" || type == "RobertaProcessing")
    return read_bert(file, component, type == "RobertaProcessing");
  if (type != "Sequence")
    file.refuse_type(component, "post_processor",
                     "null, BertProcessing, ByteLevel, RobertaProcessing, TemplateProcessing or a "
                     "Sequence of them");
  std::optional<Frame> frame;
  for (const Json& part : file.list(component["processors"], "post_processor.processors")) {
    std::optional<Frame> found = read_part(file, part);
    if (found && frame)
      file.refuse_type(part, "a part of post_processor.processors",
                       "one that puts tokens around the text, not a second one",
                       ErrorCode::kUnsupported);
    if (found) frame = std::move(found);
  }
  return frame;
}

}  // namespace

Frame read_frame(const TokenizerFile& file) {
  return read_part(file, file.component("post_processor")).value_or(Frame());
}

Encoding framed(const Frame& frame, std::span<const PlainEncoding> texts, bool add_special) {
  Encoding out;
  std::int64_t reached = 0;  // of the last text added
  for (const FramePart& part : texts.size() == 1 ? frame.one : frame.two) {
    if (part.text < 0 && !add_special) continue;
    const std::size_t before = out.ids.size();
    if (part.text < 0) {
      out.ids.insert(out.ids.end(), part.ids.begin(), part.ids.end());
      out.spans.insert(out.spans.end(), part.ids.size(), {reached, reached});
    } else {
      const PlainEncoding& text = texts[static_cast<std::size_t>(part.text)];
      out.ids.insert(out.ids.end(), text.ids.begin(), text.ids.end());
      out.spans.insert(out.spans.end(), text.spans.begin(), text.spans.end());
      reached = text.bytes;
    }
    out.types.insert(out.types.end(), out.ids.size() - before, part.type);
    out.texts.insert(out.texts.end(), out.ids.size() - before, static_cast<std::int8_t>(part.text));
  }
  return out;
}

}  // namespace heed
