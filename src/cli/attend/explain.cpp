// heed explain: which kernel would run, why the others refuse, and the cost.
#include <fmt/format.h>

#include <memory>

#include "base/formats/members.h"
#include "cli/attend/attention_options.h"
#include "cli/command.h"
#include "cli/options/option.h"
#include "cli/terminal/output.h"
#include "heed/error.h"

namespace heed::cli {
namespace {

struct ExplainOptions {
  AttentionOptions attention;
  std::vector<std::int64_t> shape;
  bool json = false;
};

Json as_json(const Plan& plan) {
  auto refusals = Json::array();
  for (const Plan::Refusal& refusal : plan.refusals)
    refusals.push({{"kernel", refusal.kernel}, {"reason", refusal.reason}});
  JsonFields fields;
  HEED_FIELDS(fields, plan.kernel, refusals, plan.mask, plan.alignment, plan.allowed_pairs,
              plan.flop, plan.bytes, plan.workspace_bytes);
  return fields.json;
}

std::string form_of(const AttentionArgs& args) {
  const Keys& keys = args.keys;
  if (keys.page_table.given()) return fmt::format("pages of {}", keys.k.dim(2));
  if (!keys.ring_begin.empty()) return fmt::format("a ring of {}", keys.k.dim(2));
  return args.extents.key_starts.empty() ? "contiguous" : "packed";
}

Json inputs_json(const AttentionArgs& args) {
  return {{"q", name(args.q.dtype())},
          {"k", name(args.keys.k.dtype())},
          {"v", name(args.keys.v.dtype())},
          {"keys", form_of(args)}};
}

std::string inputs_text(const AttentionArgs& args) {
  const Keys& keys = args.keys;
  const bool in_a_row = !keys.page_table.given() && keys.ring_begin.empty();
  return fmt::format("inputs     q {}, k {}, v {}; {}{}{}\n", name(args.q.dtype()),
                     name(keys.k.dtype()), name(keys.v.dtype()), in_a_row ? "" : "keys in ",
                     form_of(args), in_a_row ? " keys" : "");
}

// "only Q.npy is given (foo)"
std::string only_given(const AttentionOptions& files) {
  return files.k.empty()
             ? fmt::format("only Q.npy is given ({})", files.q)
             : fmt::format("only Q.npy and K.npy are given ({} and {})", files.q, files.k);
}

int run(const Given& arguments, const ExplainOptions& options) {
  const AttentionOptions& files = options.attention;
  const bool given = !files.v.empty();
  if ((!given && !files.q.empty()) || given != options.shape.empty())
    fail({.found = files.q.empty()         ? std::string("nothing says the shapes")
                   : options.shape.empty() ? only_given(files)
                                           : "files and --shape are given",
          .expected = "either Q.npy K.npy V.npy or --shape B,H,G,Tq,Tk,D,Dv"});
  arguments.require_beside(
      {"--page-table", "--ring-begin", "--k-scales", "--v-scales", "--packed-q", "--packed-k"},
      given, "Q.npy K.npy V.npy");
  const AttentionProblemData problem =
      given ? read_problem(files) : shape_problem(files, options.shape);
  const Plan forward = plan_attention(problem.args);
  const Plan backward = plan_attention_backward(problem.args, grad_request(files, problem.args));
  if (options.json) {
    const Json plans = {{"inputs", inputs_json(problem.args)},
                        {"forward", as_json(forward)},
                        {"backward", as_json(backward)}};
    print(plans.dump(2) + "\n");
  } else {
    print(inputs_text(problem.args) + forward.text + backward.text);
  }
  return 0;
}

Run declare_explain(OptionList& list) {
  const auto options = std::make_shared<ExplainOptions>();
  AttentionOptions& files = options->attention;
  add(list, {{"Q", &files.q, "Q.npy", "queries [B, H, Tq, D]"},
             {"K", &files.k, "K.npy", "keys [B, G, Tk, D]"},
             {"V", &files.v, "V.npy", "values [B, G, Tk, Dv]"},
             {.name = "--shape",
              .to = &options->shape,
              .type = "B,H,G,Tq,Tk,D,Dv",
              .help = "shapes instead of files: batch, query heads, key/value heads, queries, "
                      "keys, head sizes",
              .count = {7, 7}}});
  add_attention_options(list, files);
  add(list, {grad_of_option(files), threads_option()});
  add_json_options(list, options->json);
  return [options](const Given& given) { return run(given, *options); };
}

}  // namespace

Command explain_command() {
  return {"explain", "which attention kernel runs, why the others do not, and what it costs",
          "  heed explain --shape 1,32,8,4096,4096,128,128 --causal bottom-right\n"
          "  heed explain Q.npy K.npy V.npy --json",
          declare_explain};
}

}  // namespace heed::cli
