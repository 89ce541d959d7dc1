// heed embed: one vector a text, of a sentence encoder.
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <sstream>

#include "cli/command.h"
#include "cli/look/files.h"
#include "cli/options/text_input.h"
#include "cli/terminal/output.h"
#include "cli/terminal/progress.h"
#include "heed/base/error.h"
#include "heed/models/sentence.h"
#include "inspect/answers/json_text.h"
#include "text/utf8.h"

namespace heed::cli {
namespace {

constexpr std::size_t kSideBySide = 32;  // texts of one pass
constexpr const char* kFormats[] = {"json", "tsv", "npy"};

struct Options {
  std::string model, file, format, out;
  std::vector<std::string> texts;
};

std::vector<std::string> lines_of(const std::string& file) {
  std::vector<std::string> lines;
  std::istringstream text(read_text(file));
  for (std::string line; std::getline(text, line);) {
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back(std::move(line));
  }
  return lines;
}

// What -o's ending says, else json.
std::string format_of(const Options& options) {
  if (!options.format.empty()) return options.format;
  const std::string ending = std::filesystem::path(options.out).extension().string();
  for (const char* format : kFormats)
    if (ending == std::string(".") + format) return format;
  return "json";
}

LoadedModel sentence_encoder(const std::string& name) {
  const std::filesystem::path folder = find_model(name);
  LoadedModel model = load_model(folder);
  if (!std::filesystem::exists(folder / "1_Pooling/config.json"))
    fail({.argument = "--model",
          .found = model.name + ", which has no 1_Pooling/config.json",
          .expected = "a sentence encoder, whose folder says how its states become one vector"});
  if (!model.tokenizer)
    fail({.argument = "--model", .found = model.name, .expected = "a model with a tokenizer"});
  return model;
}

std::vector<std::vector<TokenId>> tokens_of(const LoadedModel& model,
                                            const std::vector<std::string>& texts) {
  std::vector<std::vector<TokenId>> all;
  for (const std::string& text : texts) {
    require_utf8(text);
    all.push_back(model.tokenizer->encode(text, /*add_special=*/true).ids);
    const std::int64_t most = model.model->info().positions;
    if (all.back().empty() || std::ssize(all.back()) > most)
      fail({.argument = fmt::format("text {}", all.size()),
            .found = fmt::format("{} tokens", all.back().size()),
            .expected = fmt::format("1 to {} ({}'s positions)", most, model.name)});
  }
  return all;
}

// [texts, C]
Tensor vectors_of(const LoadedModel& model, const std::vector<std::vector<TokenId>>& texts) {
  const Pooling pooling = read_pooling(model.folder);
  const std::int64_t width = model.model->info().width;
  Tensor all = Tensor::empty({std::ssize(texts), width});
  ProgressLine progress;
  progress.begin("texts", std::ssize(texts));
  for (std::size_t first = 0; first < texts.size(); first += kSideBySide) {
    const std::size_t count = std::min(kSideBySide, texts.size() - first);
    const Tensor some =
        sentence_vectors(*model.model, std::span(texts).subspan(first, count), pooling);
    std::copy_n(some.data<float>(), some.element_count(),
                all.data<float>() + static_cast<std::int64_t>(first) * width);
    for (std::size_t done = 0; done < count; ++done) progress.advance();
  }
  return all;
}

std::span<const float> row_of(const Tensor& vectors, std::size_t text) {
  const auto width = static_cast<std::size_t>(vectors.dim(1));
  return {vectors.data<float>() + text * width, width};
}

void write_lines(Output& output, const std::vector<std::string>& texts, const Tensor& vectors) {
  for (std::size_t text = 0; text < texts.size(); ++text) {
    std::string line = escaped(texts[text]);
    for (const float value : row_of(vectors, text)) line += fmt::format("\t{}", value);
    output.write(line + "\n");
  }
}

void write_objects(Output& output, const LoadedModel& model, const std::vector<std::string>& texts,
                   const Tensor& vectors) {
  output.write(fmt::format("{{\"model\":{},\"vectors\":[", json_string(model.name)));
  for (std::size_t text = 0; text < texts.size(); ++text)
    output.write(fmt::format("{}\n{{\"text\":{},\"vector\":[{}]}}", text > 0 ? "," : "",
                             json_string(texts[text]), fmt::join(row_of(vectors, text), ",")));
  output.write("\n]}\n");
}

int run(const Options& options) {
  if (options.texts.empty() == options.file.empty())
    fail({.found = options.texts.empty() ? "no text is given" : "TEXT and --file are both given",
          .expected = "TEXT or --file"});
  refuse_overwrite("-o", options.out, options.file);
  require_folder_of("-o", options.out);
  const std::vector<std::string> texts =
      options.file.empty() ? options.texts : lines_of(options.file);
  if (texts.empty()) fail({.file = options.file, .found = "has no line", .expected = "one a text"});
  const std::string format = format_of(options);
  Output output(options.out);  // a missing folder is an error before the work
  const LoadedModel model = sentence_encoder(options.model);
  const Tensor vectors = vectors_of(model, tokens_of(model, texts));
  if (format == "npy") {
    write_array_npy(output, vectors);
    return 0;
  }
  if (format == "tsv")
    write_lines(output, texts, vectors);
  else
    write_objects(output, model, texts, vectors);
  output.finish();
  return 0;
}

Run declare(OptionList& list) {
  const auto options = std::make_shared<Options>();
  add(list, {{.name = "TEXT",
              .to = &options->texts,
              .type = "TEXT",
              .list = List::kInARow,
              .help = "the texts, each of which becomes a vector"},
             {.name = "--file",
              .to = &options->file,
              .type = "FILE",
              .help = "the texts from a file, one a line, or from stdin with -"},
             {.name = "--format",
              .to = &options->format,
              .words = {std::begin(kFormats), std::end(kFormats)},
              .help = "json; tsv: a line a text, then its numbers; npy: f32 [texts, width] "
                      "(default: as the name behind -o ends, else json)"},
             {.name = "-o,--out",
              .to = &options->out,
              .type = "FILE",
              .help = "write to a file, which appears whole or not at all"},
             {.name = "--model",
              .to = &options->model,
              .type = "M",
              .required = true,
              .help = "a sentence encoder's folder or name, with 1_Pooling/config.json"},
             threads_option(),
             kernel_option()});
  return [options](const Given&) { return run(*options); };
}

}  // namespace

Command embed_command() {
  return {"embed", "one vector a text, with a sentence encoder",
          "  heed embed \"The cat sat.\" \"A cat was sitting.\" --model models/minilm\n"
          "  heed embed --file story.txt --model models/minilm -o vectors.npy",
          declare};
}

}  // namespace heed::cli
