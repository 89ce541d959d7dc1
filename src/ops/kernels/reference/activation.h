// Activations and their derivatives, one number at a time in double.
#pragma once

#include <cmath>
#include <numbers>

namespace heed::kernels::reference {

inline double gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2)); }

inline double gelu_derivative(double x) {
  const double density = std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
  return 0.5 * (1 + std::erf(x / std::numbers::sqrt2)) + x * density;
}

inline constexpr double kGeluCube = 0.044715;

inline double gelu_tanh(double x) {
  const double inner = std::sqrt(2 / std::numbers::pi) * (x + kGeluCube * x * x * x);
  return 0.5 * x * (1 + std::tanh(inner));
}

inline double gelu_tanh_derivative(double x) {
  const double root = std::sqrt(2 / std::numbers::pi);
  const double tanh = std::tanh(root * (x + kGeluCube * x * x * x));
  const double slope = root * (1 + 3 * kGeluCube * x * x);
  return 0.5 * (1 + tanh) + 0.5 * x * (1 - tanh * tanh) * slope;
}

inline double silu(double x) { return x / (1 + std::exp(-x)); }

inline double silu_derivative(double x) {
  const double share = 1 / (1 + std::exp(-x));
  return share + x * share * (1 - share);
}

inline constexpr double kQuickGelu = 1.702;

inline double quick_gelu(double x) { return silu(kQuickGelu * x) / kQuickGelu; }

inline double quick_gelu_derivative(double x) { return silu_derivative(kQuickGelu * x); }

inline double relu(double x) { return x > 0 || std::isnan(x) ? x : 0; }

inline double relu_derivative(double x) { return x > 0 ? 1 : 0; }

inline double squared_relu(double x) { return relu(x) * relu(x); }

inline double squared_relu_derivative(double x) { return 2 * relu(x); }

}  // namespace heed::kernels::reference
