#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "heed/error.h"
#include "ops/elementwise.h"
#include "ops/kernels/blocks.h"
#include "ops/kernels/elementwise.h"
#include "tensor/computable.h"
#include "tensor/text.h"

namespace heed {
namespace {

void check(const ConstView& x) {
  if (!is_floating(x.dtype())) fail("activate", "x", name(x.dtype()), "f64, f32, f16 or bf16");
}

constexpr double kGeluCube = 0.044715;
constexpr double kQuickGelu = 1.702;
constexpr double kLeak = 0.01;
constexpr double kClip = 10;
constexpr double kLaplaceMean = 0.707107;
constexpr double kLaplaceDeviation = 0.282095;

double gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2)); }
double gelu_derivative(double x) {
  const double density = std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
  return 0.5 * (1 + std::erf(x / std::numbers::sqrt2)) + x * density;
}

double gelu_tanh(double x) {
  const double inner = std::sqrt(2 / std::numbers::pi) * (x + kGeluCube * x * x * x);
  return 0.5 * x * (1 + std::tanh(inner));
}
double gelu_tanh_derivative(double x) {
  const double root = std::sqrt(2 / std::numbers::pi);
  const double tanh = std::tanh(root * (x + kGeluCube * x * x * x));
  const double slope = root * (1 + 3 * kGeluCube * x * x);
  return 0.5 * (1 + tanh) + 0.5 * x * (1 - tanh * tanh) * slope;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double silu(double x) { return x / (1 + std::exp(-x)); }
double silu_derivative(double x) {
  const double share = sigmoid(x);
  return share + x * share * (1 - share);
}

double relu(double x) { return x > 0 || std::isnan(x) ? x : 0; }
double relu6(double x) { return x > 6 ? 6 : relu(x); }

double mish_derivative(double x) {
  const double share = std::tanh(std::log1p(std::exp(x)));
  return share + x * (1 - share * share) * sigmoid(x);
}

// Like PyTorch, 0 at -3 and 1 at 3.
double hard_swish_derivative(double x) {
  if (x <= -3) return 0;
  return x < 3 ? x / 3 + 0.5 : 1;
}

double laplace(double x) {
  const double z = (x - kLaplaceMean) / kLaplaceDeviation;
  return 0.5 * (1 + std::erf(z / std::numbers::sqrt2));
}
double laplace_derivative(double x) {
  const double z = (x - kLaplaceMean) / kLaplaceDeviation;
  return std::exp(-0.5 * z * z) / (kLaplaceDeviation * std::sqrt(2 * std::numbers::pi));
}

// The functions in f64, one number at a time, in the order of `Activation`.
struct Functions {
  double (*value)(double x);
  double (*derivative)(double x);
};
constexpr Functions kFunctions[] = {
    {gelu, gelu_derivative},
    {gelu_tanh, gelu_tanh_derivative},
    {silu, silu_derivative},
    {relu, [](double x) { return x > 0 ? 1.0 : 0.0; }},
    {[](double x) { return silu(kQuickGelu * x) / kQuickGelu; },
     [](double x) { return silu_derivative(kQuickGelu * x); }},
    {[](double x) { return relu(x) * relu(x); }, [](double x) { return 2 * relu(x); }},
    {[](double x) { return std::tanh(x); },
     [](double x) { return 1 - std::tanh(x) * std::tanh(x); }},
    {sigmoid, [](double x) { return sigmoid(x) * sigmoid(-x); }},
    {[](double x) { return x * std::tanh(std::log1p(std::exp(x))); }, mish_derivative},
    {[](double x) { return x > 0 ? x : kLeak * x; }, [](double x) { return x > 0 ? 1 : kLeak; }},
    {relu6, [](double x) { return x > 0 && x < 6 ? 1.0 : 0.0; }},
    {[](double x) { return std::clamp(gelu(x), -kClip, kClip); },
     [](double x) { return gelu(x) > kClip ? 0 : gelu_derivative(x); }},
    {[](double x) { return x * relu6(x + 3) / 6; }, hard_swish_derivative},
    {laplace, laplace_derivative},
    {[](double x) { return x; }, [](double /*x*/) { return 1.0; }}};

const Functions& functions_of(Activation kind) {
  return kFunctions[static_cast<std::size_t>(kind)];
}

template <typename T>
void activate_in_f64(Activation kind, const T* x, std::int64_t count, T* y) {
  const Functions& functions = functions_of(kind);
  in_blocks(count, kernels::cpu::rows_of_block(1), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) y[i] = static_cast<T>(functions.value(x[i]));
  });
}

template <typename T>
void activate_backward_in_f64(Activation kind, const T* x, std::int64_t count, T* dy, T* y) {
  const Functions& functions = functions_of(kind);
  in_blocks(count, kernels::cpu::rows_of_block(1), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      dy[i] = static_cast<T>(dy[i] * functions.derivative(x[i]));
      y[i] = static_cast<T>(functions.value(x[i]));
    }
  });
}

}  // namespace

Tensor activate(const ConstView& x, Activation kind) {
  check(x);
  const Computable from(x);
  Tensor y = Tensor::empty(x.shape(), computing_type(x.dtype()));
  const std::int64_t count = x.element_count();
  if (y.dtype() == DType::kF64) {
    activate_in_f64(kind, from.view().data<double>(), count, y.data<double>());
    return y;
  }
  const auto activate_f32 =
      kernels::cpu::has_kernel(kind) ? kernels::cpu::activate : activate_in_f64<float>;
  activate_f32(kind, from.view().data<float>(), count, y.data<float>());
  return rounded(std::move(y), x.dtype());
}

Tensor activate_backward(const ConstView& x, Activation kind, const View& dy) {
  check(x);
  const DType computing = computing_type(x.dtype());
  if (dy.shape() != x.shape() || dy.dtype() != computing || !dy.is_contiguous())
    fail("activate", "dy", to_string(dy),
         fmt::format("{}, row-major", to_string(computing, x.shape())));
  const Computable from(x);
  Tensor y = Tensor::empty(x.shape(), computing);
  const std::int64_t count = x.element_count();
  if (computing == DType::kF64) {
    activate_backward_in_f64(kind, from.view().data<double>(), count, dy.data<double>(),
                             y.data<double>());
    return y;
  }
  const auto backward_f32 = kernels::cpu::has_kernel(kind) ? kernels::cpu::activate_backward
                                                           : activate_backward_in_f64<float>;
  backward_f32(kind, from.view().data<float>(), count, dy.data<float>(), y.data<float>());
  return rounded(std::move(y), x.dtype());
}

}  // namespace heed
