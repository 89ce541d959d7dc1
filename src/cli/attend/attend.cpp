// heed attend: the operator on arrays in files.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/wording.h"
#include "cli/attend/attention_options.h"
#include "cli/attend/observe_options.h"
#include "cli/command.h"
#include "cli/look/files.h"
#include "cli/terminal/output.h"
#include "cli/terminal/progress.h"
#include "heed/error.h"
#include "heed/tensor.h"

namespace heed::cli {
namespace {

struct AttendOptions {
  AttentionOptions attention;
  std::string out, lse;
  std::string grad, dlse, grad_out;
  std::vector<std::string> observe;
  std::string observe_out;

  bool writes() const { return !(out.empty() && lse.empty() && grad.empty() && observe.empty()); }
};

// The input files. An option that was not given leaves an empty path.
std::vector<std::string> inputs_of(const AttendOptions& options) {
  const AttentionOptions& a = options.attention;
  std::vector<std::string> all = {a.q,          a.k,          a.v,
                                  a.keep,       a.prefix,     a.blocks,
                                  a.bias,       a.alibi,      a.sink,
                                  a.page_table, a.k_scales,   a.v_scales,
                                  a.ring_begin, a.packed_q,   a.packed_k,
                                  a.q_offset,   a.key_begin,  a.key_offset,
                                  options.grad, options.dlse, a.query_lengths,
                                  a.key_lengths};
  all.insert(all.end(), a.segments.begin(), a.segments.end());
  all.insert(all.end(), a.edges.begin(), a.edges.end());
  return all;
}

// An output may not overwrite an input.
void refuse_input(const AttendOptions& options, const char* option,
                  const std::filesystem::path& out) {
  for (const std::string& in : inputs_of(options)) refuse_overwrite(option, out, in);
}

// For two options that only work together.
void require_both(const char* one, bool has_one, const char* other, bool has_other) {
  if (has_one && !has_other) fail({.argument = other, .expected = fmt::format("it with {}", one)});
  if (has_other && !has_one) fail({.argument = one, .expected = fmt::format("it with {}", other)});
}

void check_outputs(const AttendOptions& options) {
  const int piped = (options.out == "-" ? 1 : 0) + (options.lse == "-" ? 1 : 0);
  if (piped == 2)
    fail(
        {.found = "-o and --lse both go to standard output", .expected = "a file for one of them"});
  if (!options.out.empty() && options.out == options.lse)
    fail({.found = fmt::format("-o and --lse both name {}", options.out),
          .expected = "a file for each"});
  refuse_input(options, "-o", options.out);
  refuse_input(options, "--lse", options.lse);
  require_folder_of("-o", options.out);
  require_folder_of("--lse", options.lse);
  if (piped > 0 && isatty(STDOUT_FILENO) != 0)
    fail({.found = "an array cannot be shown in a terminal",
          .expected = "a file or a pipe in place of -"});
}

void check(const AttendOptions& options) {
  require_both("--grad", !options.grad.empty(), "--grad-out", !options.grad_out.empty());
  require_both("--observe", !options.observe.empty(), "--observe-out",
               !options.observe_out.empty());
  if (!(options.lse.empty() && options.dlse.empty()) && options.attention.normaliser != "softmax")
    fail({.argument = "--normaliser",
          .found = options.attention.normaliser,
          .expected = "softmax: --lse and --dlse belong to it"});
  if (!options.dlse.empty() && options.grad.empty())
    fail({.argument = "--dlse",
          .found = "given without --grad",
          .expected = "--grad DOUT.npy with it"});
  check_outputs(options);
}

// Delays Ctrl-C until the file is complete, so that no file is left half written. NumPy has no
// bf16.
void write_whole(const std::filesystem::path& path, const ConstView& array) {
  if (path == "-") {
    Output output("-");
    write_array_npy(output, array.dtype() == DType::kBF16 ? Tensor::converted(array, DType::kF32)
                                                          : Tensor::copy_of(array));
    return;
  }
  {
    const InterruptScope scope;
    if (array.dtype() == DType::kBF16)
      write_npy(path, Tensor::converted(array, DType::kF32));
    else
      write_npy(path, array);
  }
  check_interrupted();
}

// Reports a written file on stderr, because -o - may use stdout.
void tell_of(const std::filesystem::path& path, const ConstView& array,
             const std::string& note = "") {
  tell("heed attend: wrote {} {} to {}{}\n", to_string(array.shape()), name(array.dtype()),
       path.string(), note);
}

void write_output(const std::string& path, const ConstView& array) {
  if (path.empty()) return;
  write_whole(path, array);
  if (path != "-") tell_of(path, array);
}

void make_folder(const std::string& folder) {
  std::error_code error;
  if (std::filesystem::is_regular_file(folder, error))
    fail({.file = folder, .found = "is a file", .expected = "a folder"});
  std::filesystem::create_directories(folder, error);
  if (error) fail({.code = ErrorCode::kIo, .file = folder, .found = error.message()});
}

std::filesystem::path file_in(const std::string& folder, const std::string& name) {
  return std::filesystem::path(folder) / fmt::format("{}.npy", name);
}

// Writes arrays as NAME.npy.
void write_into(const std::string& folder,
                const std::vector<std::pair<std::string, ConstView>>& arrays) {
  make_folder(folder);
  for (const auto& [name, array] : arrays) write_whole(file_in(folder, name), array);
}

// Checks before the work that files written to folders overwrite no input.
void refuse_inputs_in_folders(const AttendOptions& options, const AttentionProblemData& problem) {
  if (!options.grad.empty()) {
    const AttentionGradRequest request = grad_request(options.attention, problem.args);
    for (const NamedGradient& gradient : kGradients)
      if (request.*gradient.asked)
        refuse_input(options, "--grad-out", file_in(options.grad_out, gradient.name));
  }
  for (const auto& [name, array] : Observations(options.observe).answers())
    refuse_input(options, "--observe-out", file_in(options.observe_out, name));
}

// The gradient of Q, K or V gets that input's rank; the others keep their shape.
ConstView like_input(const Tensor& gradient, std::string_view input,
                     const AttentionProblemData& problem) {
  const int rank = input == "Q"   ? problem.rank
                   : input == "K" ? problem.k.rank()
                   : input == "V" ? problem.v.rank()
                                  : gradient.rank();
  return lowered(gradient, rank);
}

void write_gradients(const AttendOptions& options, const AttentionProblemData& problem,
                     const Attended& attended) {
  const int rank = problem.rank;
  const Tensor dout = read_array(options.grad, rank, options.attention.dtype);
  Tensor dlse;
  AttentionGradRequest request = grad_request(options.attention, problem.args);
  if (!options.dlse.empty()) {
    dlse = read_array(options.dlse, rank - 1, "");
    const Shape shape = attended.lse.shape();
    if (dlse.element_count() != shape.element_count())
      fail_in(options.dlse, "shape", to_string(dlse.shape()), "that of lse",
              ErrorCode::kInvalidArgument);
    dlse = Tensor::converted(dlse.view().reshape(shape), attended.lse.dtype());
    request.dlse = dlse;
  }
  const AttentionGrads grads =
      attention_backward(problem.args, attended, lifted(dout, problem.packed()), request);
  std::vector<std::pair<std::string, ConstView>> arrays;
  for (const NamedGradient& gradient : kGradients)
    if (request.*gradient.asked)
      arrays.emplace_back(gradient.name,
                          like_input(grads.*gradient.tensor, gradient.option, problem));
  write_into(options.grad_out, arrays);
  for (const auto& [name, array] : arrays) tell_of(file_in(options.grad_out, name), array);
}

// The largest number of keys in a row of `topk_keys` [B, H, Tq, K]; the places after them hold -1.
std::int64_t most_keys(const ConstView& topk_keys) {
  const auto* const keys = topk_keys.data<std::int64_t>();
  const std::int64_t places = topk_keys.dim(3);
  std::int64_t most = 0;
  for (std::int64_t at = 0; at < topk_keys.element_count(); ++at)
    if (keys[at] >= 0) most = std::max(most, at % places + 1);
  return most;
}

void tell_of_observations(const std::string& folder, const Observations::Answers& answers) {
  for (const auto& [stem, array] : answers) {
    std::string padding;
    if (stem == "topk_keys")
      if (const std::int64_t most = most_keys(array); most < array.dim(3))
        padding = fmt::format("; rows have at most {}: places {} to {} hold key -1 and weight 0",
                              number_of(most, "key"), most + 1, array.dim(3));
    tell_of(file_in(folder, stem), array, padding);
  }
}

void write_observations(const AttendOptions& options, const AttentionProblemData& problem,
                        const Attended& attended) {
  Observations observations(options.observe);
  observe(problem.args, attended, observations.observers());
  const Observations::Answers answers = observations.answers();
  write_into(options.observe_out, answers);
  tell_of_observations(options.observe_out, answers);
}

int run(const AttendOptions& options) {
  check(options);
  const AttentionProblemData problem = read_problem(options.attention);
  refuse_inputs_in_folders(options, problem);
  ProgressLine progress;
  progress.begin("attention");
  const Attended attended = attention(problem.args);
  if (!options.writes()) {
    progress.begin("");
    print(attend_summary(problem, attended));
    return 0;
  }
  progress.begin("writing");
  write_output(options.out, lowered(attended.out, problem.rank));
  write_output(options.lse, lowered(attended.lse, problem.rank - 1));
  progress.begin("the backward pass");
  if (!options.grad.empty()) write_gradients(options, problem, attended);
  progress.begin("observing");
  if (!options.observe.empty()) write_observations(options, problem, attended);
  return 0;
}

void add_inputs(OptionList& list, AttentionOptions& options) {
  add(list, {{.name = "Q",
              .to = &options.q,
              .type = "Q.npy",
              .help = "queries [B, H, Tq, D]; [H, T, D] and [T, D] are taken too, and the output "
                      "has the rank of Q",
              .required = true},
             {.name = "K",
              .to = &options.k,
              .type = "K.npy",
              .help = "keys [B, G, Tk, D], H a multiple of G",
              .required = true},
             {.name = "V",
              .to = &options.v,
              .type = "V.npy",
              .help = "values [B, G, Tk, Dv]",
              .required = true}});
  add_attention_options(list, options);
}

void add_outputs(OptionList& list, AttendOptions& options) {
  Option grad_of = grad_of_option(options.attention);
  grad_of.needs = "--grad";
  add(list, {{"-o,--out", &options.out, "OUT.npy",
              "write the output [B, H, Tq, Dv]; - is stdout (default: print its shape and "
              "first rows, the range of the log-sum-exp, the mask and the kernel)"},
             {"--lse", &options.lse, "LSE.npy", "write the log-sum-exp [B, H, Tq]; - is stdout"},
             {"--grad", &options.grad, "DOUT.npy", "gradient of the output: run the backward pass"},
             {"--dlse", &options.dlse, "DLSE.npy", "gradient of the log-sum-exp"},
             grad_of,
             {"--grad-out", &options.grad_out, "DIR",
              "write dq.npy, dk.npy and dv.npy there (of pages, rings and i8 only dq), and "
              "dbias.npy, dsink.npy, dslope.npy, dscale.npy of --bias, --sink, --alibi, "
              "--scale"},
             {"--observe", &options.observe, "LIST", observers_help()},
             {"--observe-out", &options.observe_out, "DIR",
              "write one NAME.npy per observer there (topk: topk_keys.npy, "
              "topk_weights.npy)"},
             threads_option()});
}

Run declare_attend(OptionList& list) {
  const auto options = std::make_shared<AttendOptions>();
  add_inputs(list, options->attention);
  add_outputs(list, *options);
  return [options](const Given&) { return run(*options); };
}

}  // namespace

Command attend_command() {
  return {"attend",
          "computes attention on .npy files: output, gradients, questions about the weights",
          "  heed attend Q.npy K.npy V.npy --causal\n"
          "  heed attend Q.npy K.npy V.npy --causal bottom-right -o OUT.npy\n"
          "  heed attend Q.npy K.npy V.npy --window 128,0 --observe entropy,topk=8 "
          "--observe-out seen",
          declare_attend};
}

}  // namespace heed::cli
