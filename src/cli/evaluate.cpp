// heed evaluate: how well a model predicts a text.
#include "generate/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <optional>
#include <string>

#include "base/formats/json.h"
#include "base/wording.h"
#include "cli/command.h"
#include "cli/options/option.h"
#include "cli/options/text_input.h"
#include "cli/terminal/output.h"
#include "cli/terminal/progress.h"
#include "heed/error.h"
#include "heed/model.h"
#include "models/stored_weights.h"
#include "tensor/text.h"

namespace heed::cli {
namespace {

constexpr std::int64_t kUsualContext = 1024;

struct EvaluateOptions {
  std::string model, file;
  std::optional<DType> dtype;
  bool byte_activations = false;
  std::int64_t context = 0;  // 0: not given
  std::int64_t stride = 0;
  bool json = false;
};

struct TextScore {
  std::int64_t bytes = 0;  // of the scored tokens
  std::int64_t tokens = 0;
  double nats = 0;

  double loss() const { return nats / static_cast<double>(tokens); }
  double bits_per_byte() const { return nats / std::numbers::ln2 / static_cast<double>(bytes); }
};

// The text's tokens, without those that the tokenizer adds before it.
struct AskedTokens {
  std::vector<TokenId> ids;
  std::int64_t given = 0;
  std::int64_t bytes = 0;
};

AskedTokens asked_tokens(const LoadedModel& model, const EvaluateOptions& options) {
  if (!model.tokenizer)
    fail({.argument = "MODEL", .found = model.name, .expected = "a model with a tokenizer"});
  const std::string text = read_text(options.file);
  const Encoding encoding =
      reworded([&] { return model.tokenizer->encode(text, /*add_special=*/true); },
               [&](ErrorParts& parts) {
                 parts.file = options.file;
                 parts.op = {};
               });
  tell_of_lost_text("evaluate", "text", *model.tokenizer, text,
                    model.tokenizer->encode(text, /*add_special=*/false));
  const auto is_text = [](std::int8_t which) { return which >= 0; };
  const auto begin = std::ranges::find_if(encoding.texts, is_text);
  // Closing tokens are not scored.
  const auto end = std::find_if(encoding.texts.rbegin(), encoding.texts.rend(), is_text).base();
  AskedTokens asked;
  if (begin < end) {
    const auto first = begin - encoding.texts.begin();
    asked.given = std::max<std::int64_t>(1, first);  // nothing predicts the very first token
    asked.ids.assign(encoding.ids.begin(), encoding.ids.begin() + (end - encoding.texts.begin()));
  }
  if (asked.given >= std::ssize(asked.ids))
    fail({.file = options.file,
          .found = fmt::format("{} of text", asked.ids.empty() ? "no token" : "a single token"),
          .expected = "two tokens at least: one to foresee the next from"});
  asked.bytes = std::ssize(text) - encoding.spans[static_cast<std::size_t>(asked.given)].begin;
  return asked;
}

// Sets default windows if none are given; text_loss checks them.
void set_windows(const LoadedModel& model, EvaluateOptions& options) {
  const std::int64_t positions = model.model->info().positions;
  if (options.context == 0) options.context = std::min(kUsualContext, positions);
  if (options.stride == 0) options.stride = std::max<std::int64_t>(1, options.context / 2);
}

std::string score_text(const LoadedModel& model, const EvaluateOptions& options,
                       const TextScore& found) {
  return fmt::format(
      "{} on {}\n"
      "  loss           {:.4f} nats per token\n"
      "  perplexity     {:.4g}\n"
      "  bits per byte  {:.4f}\n"
      "of {} tokens, {} bytes; windows of {} tokens, {} apart\n",
      model.name, options.file, found.loss(), std::exp(found.loss()), found.bits_per_byte(),
      found.tokens, found.bytes, options.context, options.stride);
}

Json score_json(const LoadedModel& model, const EvaluateOptions& options, const TextScore& found) {
  return {{"model", model.name},
          {"file", options.file},
          {"tokens", found.tokens},
          {"bytes", found.bytes},
          {"context", options.context},
          {"stride", options.stride},
          {"loss", found.loss()},
          {"perplexity", std::exp(found.loss())},
          {"bits_per_byte", found.bits_per_byte()}};
}

int run(EvaluateOptions options) {
  const LoadedModel model =
      load_model(find_model(options.model), {.packed = true, .dtype = options.dtype});
  if (options.byte_activations) round_activations(model);
  set_windows(model, options);
  const AskedTokens asked = asked_tokens(model, options);
  TextScore found = {.bytes = asked.bytes, .tokens = std::ssize(asked.ids) - asked.given};
  ProgressLine progress;
  progress.begin("tokens", found.tokens);
  std::int64_t shown = 0;
  const EvaluateArgs args = {.ids = asked.ids,
                             .given = asked.given,
                             .context = options.context,
                             .stride = options.stride,
                             .done = [&](std::int64_t done) {
                               for (; shown < done; ++shown) progress.advance();
                             }};
  found.nats = reworded([&] { return text_loss(*model.model, args); },
                        [](ErrorParts& parts) {
                          parts.op = "";
                          const std::string argument = parts.argument.text();
                          if (argument == "context" || argument == "stride")
                            parts.argument = "--" + argument;
                        });
  print(options.json ? score_json(model, options, found).dump(2) + "\n"
                     : score_text(model, options, found));
  return 0;
}

Run declare_evaluate(OptionList& list) {
  const auto options = std::make_shared<EvaluateOptions>();
  add(list,
      {{.name = "MODEL",
        .to = &options->model,
        .type = "MODEL",
        .help = "a decoder: a folder, a GGUF file or a name, as --model of other commands",
        .expects = "a model's folder or name",
        .required = true},
       {.name = "FILE",
        .to = &options->file,
        .type = "FILE",
        .help = "the text, or stdin with -",
        .required = true},
       {.name = "--context",
        .to = &options->context,
        .type = "N",
        .help = "tokens of a window (default: 1024, or the model's positions)",
        .least = 2},
       {.name = "--stride",
        .to = &options->stride,
        .type = "N",
        .help =
            "tokens from a window to the next; each token counts once, in the first window that "
            "holds it (default: half of the window)",
        .least = 1},
       {.name = "--dtype",
        .to = [options](const std::string& name) { options->dtype = dtype_named(name); },
        .help = "hold weights in this type (default: the file's)",
        .words = {"f32", "f16", "bf16"}},
       activations_option(options->byte_activations),
       threads_option(),
       kernel_option()});
  add_json_options(list, options->json);
  return [options](const Given&) { return run(*options); };
}

}  // namespace

Command evaluate_command() {
  return {"evaluate", "how well a model foresees a text: loss, perplexity, bits per byte",
          "  heed evaluate tales examples/story.txt\n"
          "  heed evaluate models/llama.gguf wiki.txt --context 2048 --stride 512",
          declare_evaluate};
}

}  // namespace heed::cli
