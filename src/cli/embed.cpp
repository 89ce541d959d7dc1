// heed embed: one vector per text, by a sentence encoder.

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <memory>
#include <sstream>
#include <utility>

#include "base/wording.h"
#include "cli/command.h"
#include "cli/look/files.h"
#include "cli/options/option.h"
#include "cli/options/text_input.h"
#include "cli/terminal/output.h"
#include "cli/terminal/progress.h"
#include "heed/error.h"
#include "heed/model.h"
#include "inspect/answers/fields.h"
#include "tensor/views.h"
#include "text/utf8.h"

namespace heed::cli {
namespace {

constexpr std::size_t kSideBySide = 32;                                  // texts per pass
constexpr std::array<const char*, 3> kFormats = {"json", "tsv", "npy"};  // the default first

struct EmbedOptions {
  std::string model, file, format, out;
  std::string cut = "first";
  bool json = false;
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

SentencePart part_of(const std::string& cut) {
  return cut == "last" ? SentencePart::kLast
         : cut == "no" ? SentencePart::kAll
                       : SentencePart::kFirst;
}

// Reports cut texts once, however many there are.
void tell_of_cut(const std::vector<std::int64_t>& lengths, std::int64_t most,
                 const std::string& cut) {
  const auto is_long = [&](std::int64_t length) { return length > most; };
  const auto count = std::ranges::count_if(lengths, is_long);
  if (count == 0) return;
  const auto first = std::ranges::find_if(lengths, is_long);
  tell("heed embed: {} of {} {} more than {}, of which the {} are read: ", count,
       number_of(lengths.size(), "text"), count == 1 ? "has" : "have", number_of(most, "token"),
       cut);
  tell("text {} has {}\n", first - lengths.begin() + 1, *first);
}

std::vector<std::vector<TokenId>> tokens_of(const LoadedModel& model, const EmbedOptions& options,
                                            const std::vector<std::string>& texts) {
  const std::int64_t most = most_sentence_tokens(model);
  std::vector<std::vector<TokenId>> all;
  std::vector<std::int64_t> lengths;
  for (const std::string& text : texts) {
    require_utf8(text);
    auto [ids, whole] = sentence_tokens(*model.tokenizer, text, part_of(options.cut), most);
    all.push_back(std::move(ids));
    lengths.push_back(whole);
    if (all.back().empty() || std::ssize(all.back()) > most)
      fail({.argument = fmt::format("text {}", all.size()),
            .found = number_of(lengths.back(), "token"),
            .expected = fmt::format("1 to {} (the most that {} reads)", most, model.name)});
  }
  if (options.cut != "no") tell_of_cut(lengths, most, options.cut);
  return all;
}

// [texts, numbers of a vector]
Tensor vectors_of(const LoadedModel& model, const Pooling& pooling,
                  const std::vector<std::vector<TokenId>>& texts) {
  Tensor all;
  ProgressLine progress;
  progress.begin("texts", std::ssize(texts));
  for (std::size_t first = 0; first < texts.size(); first += kSideBySide) {
    const std::size_t count = std::min(kSideBySide, texts.size() - first);
    const Tensor some =
        sentence_vectors(*model.model, std::span(texts).subspan(first, count), pooling);
    if (first == 0) all = Tensor::empty({std::ssize(texts), some.dim(1)});
    std::copy_n(some.data<float>(), some.element_count(),
                all.data<float>() + static_cast<std::int64_t>(first) * all.dim(1));
    for (std::size_t done = 0; done < count; ++done) progress.advance();
  }
  return all;
}

// Rejects models whose weights give NaN, which would otherwise seem to work.
void require_finite(const LoadedModel& model, const Tensor& vectors) {
  const auto is_finite = [](float value) { return std::isfinite(value); };
  for (std::int64_t text = 0; text < vectors.dim(0); ++text) {
    const std::span<const float> vector = matrix_row(vectors, text);
    const auto wrong = std::ranges::find_if_not(vector, is_finite);
    if (wrong == vector.end()) continue;
    fail({.code = ErrorCode::kCorrupt,
          .argument =
              fmt::format("element {} of text {}'s vector", wrong - vector.begin(), text + 1),
          .found = static_cast<double>(*wrong),
          .expected = fmt::format("a number: weights of {} may not be finite", model.name)});
  }
}

void write_lines(Output& output, const std::vector<std::string>& texts, const Tensor& vectors) {
  for (std::size_t text = 0; text < texts.size(); ++text) {
    std::string line = escaped(texts[text]);
    for (const float value : matrix_row(vectors, text)) line += fmt::format("\t{}", value);
    output.write(line + "\n");
  }
}

void write_objects(Output& output, const LoadedModel& model, const std::vector<std::string>& texts,
                   const Tensor& vectors) {
  output.write(fmt::format("{{\"model\":{},\"vectors\":[", json_string(model.name)));
  for (std::size_t text = 0; text < texts.size(); ++text)
    output.write(fmt::format("{}\n{{\"text\":{},\"vector\":[{}]}}", text > 0 ? "," : "",
                             json_string(texts[text]), joined(matrix_row(vectors, text), ",")));
  output.write("\n]}\n");
}

int run(const EmbedOptions& options) {
  if (options.texts.empty() == options.file.empty())
    fail({.found = options.texts.empty() ? "no text is given" : "TEXT and --file are both given",
          .expected = "TEXT or --file"});
  refuse_overwrite("-o", options.out, options.file);
  require_folder_of("-o", options.out);
  const std::vector<std::string> texts =
      options.file.empty() ? options.texts : lines_of(options.file);
  if (texts.empty())
    fail({.file = options.file, .found = "has no line", .expected = "one line per text"});
  const std::string format = format_of(options.format, options.out, kFormats);
  Output output(options.out);  // reports a missing folder before the work
  const LoadedModel model = sentence_encoder(options.model);
  const Pooling pooling = read_pooling(model.folder);  // rejects it before any message about texts
  const Tensor vectors = vectors_of(model, pooling, tokens_of(model, options, texts));
  require_finite(model, vectors);
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

void add_files(OptionList& list, EmbedOptions& options) {
  add(list,
      {{.name = "TEXT",
        .to = &options.texts,
        .type = "TEXT",
        .help = "the texts, each of which becomes a vector",
        .list = List::kInARow},
       {"--file", &options.file, "FILE",
        "the texts from a file, one per line, or from stdin with -"},
       {.name = "--cut",
        .to = &options.cut,
        .help = "which tokens to read of a text that is too long for the encoder; no: refuse the "
                "text",
        .words = {"first", "last", "no"},
        .shows_default = true},
       {.name = "--format",
        .to = &options.format,
        .help = "json; tsv: one line per text, then its numbers; npy: f32 [texts, width] "
                "(default: as the name of -o ends, else json)",
        .words = {std::begin(kFormats), std::end(kFormats)}},
       json_option(options.json),
       {"-o,--out", &options.out, "FILE",
        "write to this file; it appears complete or not at all"}});
}

Run declare_embed(OptionList& list) {
  const auto options = std::make_shared<EmbedOptions>();
  add_files(list, *options);
  add(list, {{.name = "--model",
              .to = &options->model,
              .type = "M",
              .help = "a sentence encoder's folder or name, with 1_Pooling/config.json",
              .required = true},
             threads_option(),
             kernel_option()});
  return [options](const Given&) { return run(*options); };
}

}  // namespace

Command embed_command() {
  return {"embed", "one vector per text, with a sentence encoder",
          "  heed embed \"The cat sat.\" \"A cat was sitting.\" --model models/minilm\n"
          "  heed embed --file examples/story.txt --model models/minilm -o vectors.npy",
          declare_embed};
}

}  // namespace heed::cli
