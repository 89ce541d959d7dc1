#include "cli/look/files.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/options/text_input.h"
#include "cli/terminal/interrupt.h"
#include "heed/text/tokenizer.h"
#include "io/npy_header.h"

namespace heed::cli {
namespace {

std::string quoted(const std::string& bytes) { return nlohmann::json(readable(bytes)).dump(); }

// The shortest text that reads back as the same number; JSON has no NaN.
template <typename Number>
std::string number(Number value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "null";
}

// A token's text, and its bytes where the text cannot hold them.
std::string text_fields(const std::string& bytes) {
  std::string fields = fmt::format("\"text\": {}", quoted(bytes));
  if (find_invalid_utf8(bytes) >= 0)
    fields += fmt::format(", \"bytes\": \"{}\"", hexadecimal(bytes));
  return fields;
}

const std::string& bytes_of(const Look& look, std::int64_t index) {
  return look.tokens[static_cast<std::size_t>(index)].bytes;
}

std::string row_json(const Look& look, const LookRow& row) {
  std::string text = fmt::format(R"({{"query": {}, "token": {}, "entropy": {}, "attends": [)",
                                 row.query, quoted(bytes_of(look, row.query)), number(row.entropy));
  for (std::size_t i = 0; i < row.attends.size(); ++i) {
    const LookKey& key = row.attends[i];
    text += fmt::format(R"({}{{"key": {}, "token": {}, "weight": {}}})", i == 0 ? "" : ", ",
                        key.key, quoted(bytes_of(look, key.key)), number(key.weight));
  }
  return text + fmt::format(R"(], "rest": {{"count": {}, "weight": {}}}}})", row.rest_count,
                            number(row.rest_weight));
}

std::string cell_json(const LookCell& cell) {
  if (!cell.visible)
    return fmt::format(R"({{"query": {}, "key": {}, "weight": 0, "visible": false}})", cell.query,
                       cell.key);
  return fmt::format(
      R"({{"query": {}, "key": {}, "weight": {}, "rank": {}, "of": {}, "score": {}, )"
      R"("lse": {}, "visible": true}})",
      cell.query, cell.key, number(cell.weight), cell.rank, cell.of, number(cell.score),
      number(cell.lse));
}

std::string head_json(const Look& look, const HeadScores& head) {
  std::string text = fmt::format(R"({{"layer": {}, "head": {}, "previous": {}, "self": {}, )",
                                 head.layer, head.head, number(head.previous), number(head.self));
  if (!look.info.causal) text += fmt::format(R"("next": {}, )", number(head.next));
  return text + fmt::format(R"("first": {}, "entropy": {}, "elsewhere": {}}})", number(head.first),
                            number(head.entropy), number(head.elsewhere));
}

// `"name": [ ... ]` with one element a line, each written as it is made.
template <typename Item, typename Write>
void write_list(Output& output, const char* name, const std::vector<Item>& items, Write write) {
  output.write(fmt::format("  \"{}\": [", name));
  for (std::size_t i = 0; i < items.size(); ++i) {
    check_interrupted();
    output.write(fmt::format("{}\n    {}", i == 0 ? "" : ",", write(items[i])));
  }
  output.write(items.empty() ? "]" : "\n  ]");
}

std::string escaped(const std::string& bytes) {
  std::string text;
  for (const char byte : readable(bytes)) {
    if (byte == '\t') {
      text += "\\t";
    } else if (byte == '\n') {
      text += "\\n";
    } else if (byte == '\r') {
      text += "\\r";
    } else if (byte == '\\') {
      text += "\\\\";
    } else {
      text += byte;
    }
  }
  return text;
}

}  // namespace

void write_json(Output& output, const Look& look) {
  output.write(fmt::format("{{\n  \"model\": {},\n  \"stack\": \"self\",\n", quoted(look.model)));
  std::int64_t index = 0;
  write_list(output, "tokens", look.tokens, [&](const SessionToken& token) {
    return fmt::format(R"({{"index": {}, {}, "begin": {}, "end": {}}})", index++,
                       text_fields(token.bytes), token.begin, token.end);
  });
  output.write(fmt::format(
      ",\n  \"layer\": {},\n  \"head\": {},\n  \"chosen\": {{\"reason\": {}, \"score\": {}}},\n",
      look.chosen.layer, look.chosen.head, quoted(look.chosen.reason), number(look.chosen.score)));
  write_list(output, "rows", look.rows, [&](const LookRow& row) { return row_json(look, row); });
  if (!look.cells.empty()) {
    output.write(",\n");
    write_list(output, "cells", look.cells, cell_json);
  }
  output.write(",\n");
  write_list(output, "heads", look.heads,
             [&](const HeadScores& head) { return head_json(look, head); });
  output.write(",\n");
  write_list(output, "next", look.next.words, [](const NextWord& word) {
    return fmt::format(R"({{"token": {}, "id": {}, "probability": {}}})", quoted(word.bytes),
                       word.id, number(word.probability));
  });
  output.write("\n}\n");
  output.finish();
}

void write_tsv(Output& output, const Look& look) {
  const auto write = [&](std::int64_t query, std::int64_t key, auto weight) {
    output.write(fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\n", look.chosen.layer, look.chosen.head,
                             query, escaped(bytes_of(look, query)), key,
                             escaped(bytes_of(look, key)), weight));
  };
  output.write("layer\thead\tquery\tquery_token\tkey\tkey_token\tweight\n");
  for (const LookCell& cell : look.cells) write(cell.query, cell.key, cell.weight);
  for (const LookRow& row : look.rows) {
    check_interrupted();
    if (!look.cells.empty()) break;  // they are the whole answer
    for (const LookKey& key : row.attends) write(row.query, key.key, key.weight);
  }
  output.finish();
}

void write_weights_npy(Output& output, const Session& session, std::optional<int> layer,
                       std::optional<int> head) {
  const auto length = static_cast<std::int64_t>(session.tokens.size());
  const Shape shape = {layer ? 1 : session.info.layers, head ? 1 : session.info.heads, length,
                       length};
  output.write(format_npy_header({.dtype = DType::kF32, .fortran_order = false, .shape = shape}));
  for (int index = 0; index < static_cast<int>(session.layers.size()); ++index) {
    if (layer && *layer != index) continue;
    visit_rows(session.layers[static_cast<std::size_t>(index)], head,
               [&](std::int64_t, std::int64_t, std::span<const float> weights) {
                 check_interrupted();
                 output.write(weights.data(), weights.size_bytes());
               });
  }
  output.finish();
}

void write_array_npy(Output& output, const Tensor& array) {
  output.write(
      format_npy_header({.dtype = array.dtype(), .fortran_order = false, .shape = array.shape()}));
  output.write(array.view().raw(),
               static_cast<std::size_t>(array.element_count()) * size_bytes(array.dtype()));
  output.finish();
}

}  // namespace heed::cli
