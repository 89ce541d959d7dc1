// Finite scores give finite results: rows sum to 1 at every level up to the largest number, in
// every kernel, compared with the reference in f64.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "heed/attention.h"
#include "heed/mask.h"
#include "heed/observe.h"
#include "support/compare.h"
#include "support/every_kernel.h"
#include "support/random_tensor.h"

namespace heed::score_levels_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kKeys = 70;  // more than a tile
constexpr std::int64_t kWidth = 4;  // of q, k and v

enum class Where { kWhole, kPart, kPadding, kTwoLevels };
enum class Source { kBias, kProduct };
enum class Beside { kNothing, kSoftcap, kSink, kFarSink, kSigmoid, kAlibi };

struct Level {
  double magnitude;  // signed
  DType dtype;
  Where where;
  Source source;
  Beside beside;
  std::int64_t rows;
};

double largest_of(DType dtype) {
  if (dtype == DType::kF64) return std::numeric_limits<double>::max();
  if (dtype == DType::kF16) return 65504;
  if (dtype == DType::kBF16) return 0x1.FEp127;
  return std::numeric_limits<float>::max();
}

// x rounded to the type.
double held(double x, DType dtype) {
  return test::values(Tensor::converted(ConstView(&x, DType::kF64, Shape{1}), dtype))[0];
}

// The level's part of the score of row i and key j: 0 or `magnitude` or half of that.
double far_part(const Level& level, std::int64_t i, std::int64_t j) {
  if (level.where == Where::kWhole) return level.magnitude;
  if (level.where == Where::kPadding) return j < 66 ? level.magnitude : 0;
  if (level.where == Where::kTwoLevels)
    return (i + j) % 2 == 0 ? level.magnitude : level.magnitude / 2;
  return (level.source == Source::kBias ? i + j : j) % 3 == 0 ? level.magnitude : 0;
}

// Inputs whose scores f32 represents exactly, or absorbs: sums of a level and small multiples of
// 1/4, or of 16 if the level would absorb a part of these.
struct Problem {
  explicit Problem(const Level& of) : level(of), type(of.dtype) {
    const double size = std::abs(level.magnitude);
    if (type != DType::kF64 && size > 0x1p20 && size < 0x1p27) unit = 64;
    const std::int64_t rows = level.rows;
    q = Tensor::zeros({1, 2, rows, kWidth}, DType::kF64);
    k = Tensor::zeros({1, 1, kKeys, kWidth}, DType::kF64);
    v = Tensor::converted(test::random_tensor({1, 1, kKeys, kWidth}, 3, type), DType::kF64);
    dout = Tensor::converted(test::random_tensor({1, 2, rows, kWidth}, 4, type), DType::kF64);
    bias = Tensor::zeros({1, 1, rows, kKeys}, DType::kF64);
    level.source == Source::kBias ? fill_bias() : fill_product();
    sink = Tensor::zeros({2}, DType::kF64);
    std::fill_n(sink.data<double>(), 2, level.beside == Beside::kFarSink ? level.magnitude : 1.5);
    slope = Tensor::zeros({2}, DType::kF64);
    std::fill_n(slope.data<double>(), 2, .25 * unit);
    for (auto [from, to] : {std::pair(&q, &typed_q),
                            {&k, &typed_k},
                            {&v, &typed_v},
                            {&dout, &typed_dout},
                            {&bias, &typed_bias}})
      *to = Tensor::converted(*from, type);
  }

  void fill_bias() {
    const double step = unit * (level.beside == Beside::kSoftcap ? 256 : .25);  // beyond the cap
    for (std::int64_t e = 0; e < q.element_count(); ++e)
      q.data<double>()[e] = static_cast<double>(e * 7 % 3 - 1) * step;
    for (std::int64_t e = 0; e < k.element_count(); ++e)
      k.data<double>()[e] = e % kWidth == 0 ? static_cast<double>(e / kWidth * 5 % 3 - 1) : 0;
    for (std::int64_t i = 0; i < level.rows; ++i)
      for (std::int64_t j = 0; j < kKeys; ++j)
        bias.data<double>()[i * kKeys + j] = held(far_part(level, i, j), type);
  }

  // One term of the product makes the level; near keys have another.
  void fill_product() {
    const double most = std::abs(level.magnitude);
    const double root = std::exp2(std::floor(std::log2(most) / 2));
    for (std::int64_t r = 0; r < 2 * level.rows; ++r) {
      q.data<double>()[r * kWidth] = root;
      q.data<double>()[r * kWidth + 1] = .25 * static_cast<double>(r % 3);
    }
    for (std::int64_t j = 0; j < kKeys; ++j) {
      const double part = held(far_part(level, 0, j) / root, type);
      k.data<double>()[j * kWidth] = part;
      k.data<double>()[j * kWidth + 1] = part == 0 ? static_cast<double>(j % 3 - 1) : 0;
    }
  }

  bool padding() const { return level.where == Where::kPadding; }
  bool sigmoid() const { return level.beside == Beside::kSigmoid; }
  bool has_sink() const {
    return level.beside == Beside::kSink || level.beside == Beside::kFarSink;
  }

  Scores scores() const {
    Scores scores = {.scale = {1}};
    if (level.source == Source::kBias) scores.bias = typed_bias;
    if (level.beside == Beside::kSoftcap) scores.softcap = 2 * unit;
    if (has_sink()) scores.sink = sink;
    if (level.beside == Beside::kAlibi) scores.alibi = slope;
    if (sigmoid()) scores.normaliser = Normaliser::kSigmoid;
    return scores;
  }

  AttentionArgs args() const {
    return {.q = typed_q,
            .keys = {typed_k, typed_v},
            .extents = {.q_offset = {60}},
            .mask = padding() ? Mask::causal() : Mask(),
            .scores = scores()};
  }

  Level level;
  DType type;
  double unit = 1;
  Tensor q, k, v, dout, bias, sink, slope;
  Tensor typed_q, typed_k, typed_v, typed_dout, typed_bias;
};

// The scores, each rounded to the type that sums have, and the slope of the softcap.
struct ExactScores {
  explicit ExactScores(const Problem& problem)
      : z(Tensor::zeros({1, 2, problem.level.rows, kKeys}, DType::kF64)) {
    const auto held_sum = [&](double x) {
      return problem.type == DType::kF64 ? x : static_cast<double>(static_cast<float>(x));
    };
    const std::int64_t rows = problem.level.rows;
    cap_slope.assign(static_cast<std::size_t>(z.element_count()), 1.0);
    for (std::int64_t r = 0; r < 2 * rows; ++r)
      for (std::int64_t j = 0; j < kKeys; ++j) {
        double score = 0;
        for (std::int64_t d = 0; d < kWidth; ++d)
          score +=
              problem.q.data<double>()[r * kWidth + d] * problem.k.data<double>()[j * kWidth + d];
        const std::int64_t at = r * kKeys + j;
        if (problem.level.beside == Beside::kSoftcap) {
          const double tanh = std::tanh(score / 2 / problem.unit);
          score = 2 * problem.unit * tanh;
          cap_slope[static_cast<std::size_t>(at)] = 1 - tanh * tanh;
        }
        if (problem.level.source == Source::kBias)
          score = held_sum(score + problem.bias.data<double>()[r % rows * kKeys + j]);
        if (problem.level.beside == Beside::kAlibi)
          score -= .25 * problem.unit * static_cast<double>(std::abs(60 + r % rows - j));
        z.data<double>()[at] = held_sum(score);
      }
  }

  Tensor z;  // [1, 2, rows, keys]
  std::vector<double> cap_slope;
};

struct Answers {
  Tensor out, dv, dk, dq, dsink, dz;  // dz is the gradient of the bias
  Tensor lse, lse_low;
  Tensor weights, entropy, received, mass, heatmap;
  Tensor observed_dz;  // through entropy and received
};

void look(const AttentionArgs& args, const Attended& attended, Answers& answers) {
  SelectionObserver weights;
  EntropyObserver entropy;
  ReceivedObserver received;
  std::vector<std::int32_t> classes(kKeys);
  for (std::size_t j = 0; j < kKeys; ++j) classes[j] = static_cast<std::int32_t>(j % 2);
  MassObserver mass(classes, 2);
  HeatmapObserver heatmap(1, 5, Pool::kSum);
  Observer* const all[] = {&weights, &entropy, &received, &mass, &heatmap};
  observe(args, attended, all);
  answers.weights = std::move(weights.values);
  answers.entropy = std::move(entropy.entropy);
  answers.received = std::move(received.received);
  answers.mass = std::move(mass.mass);
  answers.heatmap = std::move(heatmap.cells);
}

std::string backward_kernel(const AttentionArgs& args, const std::string& name) {
  const CheckedAttention checked(args);
  for (const auto& candidate : backward_candidates())
    if (candidate.name == name && candidate.refusal(checked.problem).empty()) return name;
  return {};
}

Answers answers_of(AttentionArgs args, const ConstView& dout) {
  Answers answers;
  const Attended attended = attention(args);
  look(args, attended, answers);
  const bool bias = args.scores.bias.given();
  if (args.scores.normaliser == Normaliser::kSoftmax) {
    const Tensor ones = test::random_tensor({1, 2, args.q.dim(2)}, 8, attended.lse.dtype());
    const Tensor more = test::random_tensor({1, 2, kKeys}, 9, attended.lse.dtype());
    AttentionGrads seen =
        observe_backward(args, attended, {.dentropy = ones, .dreceived = more}, {.dbias = bias});
    answers.observed_dz = std::move(bias ? seen.dbias : seen.dk);
  }
  args.kernel = backward_kernel(args, args.kernel);
  AttentionGrads grads =
      attention_backward(args, attended, dout, {.dbias = bias, .dsink = args.scores.sink.given()});
  answers.out = Tensor::copy_of(attended.out);
  if (attended.lse.given()) {
    answers.lse = Tensor::copy_of(attended.lse);
    answers.lse_low = Tensor::copy_of(attended.lse_low);
  }
  answers.dq = std::move(grads.dq);
  answers.dk = std::move(grads.dk);
  answers.dv = std::move(grads.dv);
  answers.dz = std::move(grads.dbias);
  answers.dsink = std::move(grads.dsink);
  return answers;
}

// The reference in f64 of scores that are given as a bias; dq and dk follow from its dbias.
struct Expected : Answers {
  explicit Expected(const Problem& problem) {
    const ExactScores exact(problem);
    const Tensor none = Tensor::zeros(problem.q.shape(), DType::kF64);
    const Tensor no_keys = Tensor::zeros(problem.k.shape(), DType::kF64);
    AttentionArgs args = problem.args();
    args.q = none;
    args.keys = {no_keys, problem.v};
    args.scores = {.scale = {1},
                   .bias = exact.z,
                   .sink = args.scores.sink,
                   .normaliser = args.scores.normaliser};
    args.kernel = "reference";
    static_cast<Answers&>(*this) = answers_of(args, problem.dout);
    through_product(problem, exact);
  }

  // dq = dS K and dk = dS^T Q; `*_size` are the sums of magnitudes, which rounding is measured by.
  void through_product(const Problem& problem, const ExactScores& exact) {
    dq = Tensor::zeros(problem.q.shape(), DType::kF64);
    dk = Tensor::zeros(problem.k.shape(), DType::kF64);
    for (std::int64_t r = 0; r < 2 * problem.level.rows; ++r)
      for (std::int64_t j = 0; j < kKeys; ++j) {
        const double ds = dz.data<double>()[r * kKeys + j] *
                          exact.cap_slope[static_cast<std::size_t>(r * kKeys + j)];
        for (std::int64_t d = 0; d < kWidth; ++d) {
          const double of_q = ds * problem.k.data<double>()[j * kWidth + d];
          const double of_k = ds * problem.q.data<double>()[r * kWidth + d];
          dq.data<double>()[r * kWidth + d] += of_q;
          dk.data<double>()[j * kWidth + d] += of_k;
          // A sum of 70 keys that cancels is no better than its largest terms.
          dq_size = std::max(dq_size, std::abs(problem.k.data<double>()[j * kWidth + d]));
          dk_size = std::max(dk_size, std::abs(problem.q.data<double>()[r * kWidth + d]));
        }
      }
  }

  double dq_size = 0;
  double dk_size = 0;
};

// Errors of one case; the worst of all cases is recorded.
struct Sweep {
  std::int64_t cases = 0;
  std::int64_t numbers = 0;
  double worst = 0;  // relative to the allowed error
  std::string worst_case;
  int reported = 0;

  void check(const std::string& what, const Level& level, double error, double allowed) {
    ++numbers;
    const double part = error / allowed;
    if (part <= std::min(worst, 1.0)) return;
    const std::string place = fmt::format(
        "{} at {:.3g}, {}, where {}, source {}, beside {}, {} rows: {:.2g}, allowed {:.2g}", what,
        level.magnitude, name(level.dtype), static_cast<int>(level.where),
        static_cast<int>(level.source), static_cast<int>(level.beside), level.rows, error, allowed);
    if (!(part <= 1) && ++reported <= 20) ADD_FAILURE() << place;
    if (part <= worst) return;
    worst = std::isnan(part) ? kInfinity : part;
    worst_case = place;
  }

  // The largest difference, relative to the largest expected number or `least`.
  void compare(const std::string& what, const Level& level, const ConstView& found,
               const ConstView& due, double allowed, double least = 1) {
    const std::vector<double> x = test::values(found);
    const std::vector<double> y = test::values(due);
    ASSERT_EQ(x.size(), y.size()) << what;
    double error = 0;
    double size = least;
    for (std::size_t e = 0; e < x.size(); ++e) {
      const double one = x[e] == y[e] ? 0 : std::abs(x[e] - y[e]);
      if (!(one <= error)) error = one;
      size = std::max(size, std::isfinite(y[e]) ? std::abs(y[e]) : 0);
      if (std::isnan(one)) break;
    }
    check(what, level, error / size, allowed);
  }
};

double unit_of(DType dtype) {
  if (dtype == DType::kF64) return 1e-13;
  if (dtype == DType::kF16) return 2e-3;
  return dtype == DType::kBF16 ? 1.6e-2 : 4e-6;
}

void compare_lse(Sweep& sweep, const std::string& what, const Level& level, const ConstView& high,
                 const ConstView& low, const Expected& due) {
  const auto x = test::values(high);
  const auto x_low = test::values(low);
  const auto y = test::values(due.lse);
  const auto y_low = test::values(due.lse_low);
  double error = 0;
  for (std::size_t r = 0; r < x.size(); ++r)
    if (x[r] != y[r] || std::isfinite(x[r]))
      error = std::max(error, std::abs((x[r] - y[r]) + (x_low[r] - y_low[r])));
  sweep.check(what + " lse", level, std::isnan(error) ? kInfinity : error, 2e-6);
}

void compare_observed(Sweep& sweep, const std::string& what, const Level& level,
                      const Answers& found, const Expected& due) {
  sweep.compare(what + " weights", level, found.weights, due.weights, 2e-6);
  sweep.compare(what + " entropy", level, found.entropy, due.entropy, 4e-6);
  sweep.compare(what + " received", level, found.received, due.received, 2e-6);
  sweep.compare(what + " mass", level, found.mass, due.mass, 2e-6);
  sweep.compare(what + " heatmap", level, found.heatmap, due.heatmap, 2e-6);
  if (level.beside == Beside::kSigmoid) return;
  const Tensor weights = Tensor::converted(found.weights, DType::kF64);
  const Tensor expected = Tensor::converted(due.weights, DType::kF64);
  double error = 0;
  for (std::int64_t r = 0; r < 2 * level.rows; ++r) {
    double sum = 0;
    double expected_sum = 0;
    for (std::int64_t j = 0; j < kKeys; ++j) {
      sum += weights.data<double>()[r * kKeys + j];
      expected_sum += expected.data<double>()[r * kKeys + j];
    }
    error = std::isnan(sum) ? kInfinity : std::max(error, std::abs(sum - expected_sum));
  }
  sweep.check(what + " row sums", level, error, 2e-6);
}

// The two halves of the keys, merged, and the gradient through both.
void compare_merged(Sweep& sweep, const std::string& what, const Problem& problem,
                    AttentionArgs args, const Expected& due) {
  constexpr std::int64_t kCut = 33;
  args.scores.sink = {};
  AttentionArgs parts[2] = {args, args};
  for (int half = 0; half < 2; ++half) {
    const std::int64_t begin = half == 0 ? 0 : kCut;
    const std::int64_t end = half == 0 ? kCut : kKeys;
    parts[half].keys = {args.keys.k.slice(2, begin, end), args.keys.v.slice(2, begin, end)};
    parts[half].extents.key_offset = {begin};
    if (args.scores.bias.given()) parts[half].scores.bias = args.scores.bias.slice(3, begin, end);
  }
  const Attended a = attention(parts[0]);
  const Attended b = attention(parts[1]);
  const ConstView sink = problem.has_sink() ? problem.sink.view() : ConstView();
  const Attended merged = merge(a, b, sink);
  const double unit = unit_of(problem.type);
  sweep.compare(what + " merged out", problem.level, merged.out, due.out, 2 * unit);
  compare_lse(sweep, what + " merged", problem.level, merged.lse, merged.lse_low, due);
  const auto view = [](const Attended& x) { return AttendedConstView{x.out, x.lse, x.lse_low}; };
  const MergeGrads grads =
      merge_backward({.a = view(a), .b = view(b), .sink = sink}, view(merged), problem.typed_dout);
  const Attended* attended[] = {&a, &b};
  for (int half = 0; half < 2; ++half) {
    parts[half].kernel = backward_kernel(parts[half], args.kernel);
    const AttentionGrads of =
        attention_backward(parts[half], *attended[half], half == 0 ? grads.dout_a : grads.dout_b,
                           {.dlse = half == 0 ? grads.dlse_a : grads.dlse_b});
    const ConstView wanted =
        half == 0 ? due.dv.view().slice(2, 0, kCut) : due.dv.view().slice(2, kCut, kKeys);
    sweep.compare(what + " merged dv", problem.level, of.dv, wanted, 2 * unit);
  }
  if (problem.has_sink())
    sweep.compare(what + " merged dsink", problem.level, grads.dsink, due.dsink, 4 * unit);
}

void run_level(Sweep& sweep, const Level& level) {
  const Problem problem(level);
  const Expected due(problem);
  const double unit = unit_of(level.dtype);
  test::for_every_kernel(problem.args(), [&](const AttentionArgs& args) {
    ++sweep.cases;
    const std::string& what = args.kernel;
    const Answers found = answers_of(args, problem.typed_dout);
    sweep.compare(what + " out", level, found.out, due.out, unit);
    sweep.compare(what + " dv", level, found.dv, due.dv, unit);
    sweep.compare(what + " dq", level, found.dq, due.dq, 4 * unit, due.dq_size);
    sweep.compare(what + " dk", level, found.dk, due.dk, 4 * unit, due.dk_size);
    if (problem.has_sink()) sweep.compare(what + " dsink", level, found.dsink, due.dsink, 4 * unit);
    compare_observed(sweep, what, level, found, due);
    if (problem.sigmoid()) return;
    if (level.source == Source::kBias) {
      Tensor both = Tensor::zeros({1, 1, level.rows, kKeys}, DType::kF64);  // heads share the bias
      const auto at = test::values(due.observed_dz);
      for (std::size_t e = 0; e < at.size(); ++e)
        both.data<double>()[e % static_cast<std::size_t>(level.rows * kKeys)] += at[e];
      sweep.compare(what + " observed dbias", level, found.observed_dz, both, 8 * unit);
    }
    compare_lse(sweep, what, level, found.lse, found.lse_low, due);
    compare_merged(sweep, what, problem, args, due);
  });
}

std::vector<double> levels_of(DType dtype, bool all) {
  std::vector<double> levels;
  const double most = largest_of(dtype);
  const std::vector<int> few = {0, 3, 7, 9, 16, 18, 24, 37, 38, 100, 308};
  for (int power = 0; power < 309; ++power) {
    const bool wanted = all ? power <= 40 || power % 20 == 8 : std::ranges::count(few, power) > 0;
    if (wanted && std::pow(10, power) < most) levels.push_back(std::pow(10, power));
  }
  levels.push_back(most);
  return levels;
}

void sweep_levels(bool all) {
  Sweep sweep;
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kF16})
    for (const double level : levels_of(dtype, all))
      for (const double sign : {1.0, -1.0})
        for (const Where where : {Where::kWhole, Where::kPart, Where::kPadding, Where::kTwoLevels})
          for (const Beside beside : {Beside::kNothing, Beside::kSoftcap, Beside::kSink,
                                      Beside::kFarSink, Beside::kSigmoid, Beside::kAlibi})
            for (const Source source : {Source::kBias, Source::kProduct}) {
              const double held_level = held(level * sign, dtype);
              const bool bias = source == Source::kBias;
              if (!bias && (beside == Beside::kSoftcap || beside == Beside::kAlibi)) continue;
              run_level(sweep, {held_level, dtype, where, source, beside, bias ? 9 : 1});
            }
  testing::Test::RecordProperty("cases", fmt::format("{}", sweep.cases));
  testing::Test::RecordProperty("worst", sweep.worst_case);
  fmt::print("{} cases, {} comparisons, the worst {:.2g} of what is allowed: {}\n", sweep.cases,
             sweep.numbers, sweep.worst, sweep.worst_case);
}

// Rows of three ones with a bias that all keys share.
AttentionArgs of_ones(const Tensor& ones, const Tensor& bias) {
  return {.q = ones, .keys = {ones, ones}, .scores = {.bias = bias}};
}

Tensor filled(const Shape& shape, double value, DType dtype = DType::kF32) {
  Tensor made = Tensor::zeros(shape, DType::kF64);
  std::fill_n(made.data<double>(), made.element_count(), value);
  return Tensor::converted(made, dtype);
}

// torch.full(size, torch.finfo(dtype).min) is a common mask: PyTorch gives the mean.
TEST(ScoreLevels, ARowOfTheLowestNumberIsTheMeanWithItsGradient) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kF16})
    for (const double lowest : {-largest_of(dtype), -1e4, largest_of(dtype)}) {
      const Tensor ones = filled({1, 1, 3, 4}, 1, dtype);
      const Tensor bias = filled({3, 3}, lowest, dtype);
      test::for_every_kernel(of_ones(ones, bias), [&](AttentionArgs args) {
        const Attended attended = attention(args);
        EXPECT_LE(test::distance(attended.out, ones), 1e-6) << name(dtype) << lowest;
        args.kernel = backward_kernel(args, args.kernel);
        const AttentionGrads grads = attention_backward(args, attended, ones);
        EXPECT_LE(test::distance(grads.dv, ones), 4e-3) << name(dtype) << lowest;
        EXPECT_LE(test::largest_difference(grads.dq, filled({1, 1, 3, 4}, 0)), 4e-3);
      });
    }
}

TEST(ScoreLevels, TheGradientOfAValueIsOneAtAnyLevel) {
  const Tensor ones = filled({1, 1, 3, 4}, 1);
  for (const double level : {1e9, 1e15, 1e18, 1e24, 1e30, 3e38})
    for (const double sign : {-1.0, 1.0}) {
      const Tensor bias = filled({3, 3}, sign * level);
      test::for_every_kernel(of_ones(ones, bias), [&](AttentionArgs args) {
        const Attended attended = attention(args);
        args.kernel = backward_kernel(args, args.kernel);
        EXPECT_LE(test::distance(attention_backward(args, attended, ones).dv, ones), 1e-6) << level;
        EntropyObserver entropy;
        Observer* const all[] = {&entropy};
        observe(args, attended, all);
        EXPECT_NEAR(entropy.entropy.data<float>()[0], std::log(3), 2e-6) << level;
      });
    }
}

// Causal with padding on the left, as one float mask: rows of padding are means, the others are
// what a boolean mask gives.
TEST(ScoreLevels, AFloatMaskOfTheLowestNumberHidesAsABooleanDoes) {
  const Tensor q = test::random_tensor({1, 2, 9, 8}, 1);
  const Tensor k = test::random_tensor({1, 2, 9, 8}, 2);
  const Tensor v = test::random_tensor({1, 2, 9, 8}, 3);
  constexpr std::int64_t kPadding = 4;
  Tensor bias = Tensor::zeros({9, 9});
  Tensor hidden = Tensor::zeros({9, 9});
  for (std::int64_t i = 0; i < 9; ++i)
    for (std::int64_t j = 0; j < 9; ++j)
      if (j > i || j < kPadding) {
        bias.data<float>()[i * 9 + j] = -std::numeric_limits<float>::max();
        hidden.data<float>()[i * 9 + j] = -INFINITY;
      }
  AttentionArgs args = {.q = q, .keys = {k, v}, .scores = {.bias = bias}};
  test::for_every_kernel(args, [&](AttentionArgs with_lowest) {
    const Attended found = attention(with_lowest);
    AttentionArgs with_infinity = with_lowest;
    with_infinity.scores.bias = hidden;
    const Attended due = attention(with_infinity);
    const auto rows = [](const Attended& x, std::int64_t begin, std::int64_t end) {
      return x.out.view().slice(2, begin, end);
    };
    EXPECT_LE(test::distance(rows(found, kPadding, 9), rows(due, kPadding, 9)), 1e-6);
    EXPECT_EQ(test::values(rows(due, 0, kPadding)), std::vector<double>(2 * kPadding * 8, 0.0));
    for (std::int64_t d = 0; d < 8; ++d) {
      double mean = 0;
      for (std::int64_t j = 0; j < 9; ++j) mean += v.data<float>()[j * 8 + d] / 9.0;
      EXPECT_NEAR(found.out.data<float>()[d], mean, 1e-6);
    }
  });
}

// A double beyond f32, with f32 queries, becomes the largest f32, not infinity.
TEST(ScoreLevels, ABiasBeyondF32HidesNothing) {
  const Tensor ones = filled({1, 1, 3, 4}, 1);
  const Tensor bias = filled({3, 3}, -1e300, DType::kF64);
  test::for_every_kernel(of_ones(ones, bias), [&](const AttentionArgs& args) {
    EXPECT_LE(test::distance(attention(args).out, ones), 1e-6);
  });
}

// q . k is beyond f32, scale * q . k is not.
TEST(ScoreLevels, AProductBeyondTheNumbersIsScaledBefore) {
  const Tensor q = filled({1, 1, 3, 4}, 1e19);
  const Tensor k = filled({1, 1, 3, 4}, 1e19);
  const Tensor v = filled({1, 1, 3, 4}, 1);
  const Tensor bias = filled({3, 3}, .5);
  for (const bool with_bias : {false, true}) {
    AttentionArgs args = {.q = q, .keys = {k, v}, .scores = {.scale = {1. / 16}}};
    if (with_bias) args.scores.bias = bias;
    test::for_every_kernel(args, [&](AttentionArgs each) {
      const Attended attended = attention(each);
      EXPECT_LE(test::distance(attended.out, v), 1e-6);
      each.kernel = backward_kernel(each, each.kernel);
      EXPECT_LE(test::distance(attention_backward(each, attended, v).dv, v), 1e-6);
    });
  }
}

TEST(ScoreLevels, PartsAtAnyLevelAverage) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16})
    for (const double lse : {-1e20, 1e20, -1e16, 3e38, -3e38}) {
      const DType row_type = dtype == DType::kF64 ? dtype : DType::kF32;
      const Tensor a = filled({1, 1, 1, 4}, 1, dtype);
      const Tensor b = filled({1, 1, 1, 4}, 3, dtype);
      const Tensor level = filled({1, 1, 1}, lse, row_type);
      const MergeArgs args = {.a = {a, level}, .b = {b, level}};
      const Attended merged = merge(args);
      EXPECT_EQ(test::values(merged.out), std::vector<double>(4, 2.0)) << lse;
      EXPECT_NEAR(test::values(merged.lse_low)[0], std::log(2), 1e-7) << lse;
      const MergeGrads grads =
          merge_backward(args, AttendedConstView{merged.out, merged.lse, merged.lse_low}, a);
      EXPECT_LE(test::distance(grads.dout_a, filled({1, 1, 1, 4}, .5)), 1e-6) << lse;
      EXPECT_LE(test::distance(grads.dlse_b, filled({1, 1, 1}, 2)), 1e-6) << lse;
    }
}

TEST(ScoreLevels, ARowWithoutKeysStaysZero) {
  const Tensor ones = filled({1, 1, 3, 4}, 1);
  const Tensor bias = filled({3, 3}, -INFINITY);
  test::for_every_kernel(of_ones(ones, bias), [&](AttentionArgs args) {
    const Attended attended = attention(args);
    EXPECT_EQ(test::values(attended.out), std::vector<double>(12, 0.0));
    args.kernel = backward_kernel(args, args.kernel);
    EXPECT_EQ(test::values(attention_backward(args, attended, ones).dv),
              std::vector<double>(12, 0.0));
  });
}

// Every power of ten where $HEED_SCORE_LEVELS is "all".
TEST(ScoreLevels, RowsSumToOneUpToTheLargestNumberInEveryKernel) {
  const char* wanted = std::getenv("HEED_SCORE_LEVELS");
  sweep_levels(wanted != nullptr && std::string(wanted) == "all");
}

}  // namespace
}  // namespace heed::score_levels_test
