// Checks the caller's arguments of attention and resolves them for the kernels.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "attention/problem.h"
#include "heed/attention.h"
#include "tensor/operand.h"

namespace heed {

/// Owns the data that `problem` points to. Movable only: a copy would point into the original.
struct CheckedAttention {
  explicit CheckedAttention(const AttentionArgs& args);
  CheckedAttention(CheckedAttention&&) = default;

  std::vector<kernels::Sequence> sequences;
  std::vector<double> scale;
  std::vector<double> slope;
  std::vector<double> sink;
  std::vector<std::int64_t> pages;
  kernels::AttentionProblem problem;
};

/// q, k, v, the bias and the other inputs: no output may overlap them.
std::vector<Operand> inputs(const AttentionArgs& args);
/// Checks that all of these have memory.
void require_inputs(std::string_view op, const AttentionArgs& args);

bool is_packed(const ConstView& operand);  // [heads, total, D]
std::int64_t batch_of(const AttentionArgs& args);
Shape out_shape(const AttentionArgs& args);
Shape lse_shape(const AttentionArgs& args);
bool has_lse(const AttentionArgs& args);
DType lse_type(const AttentionArgs& args);
bool has_out_low(const AttentionArgs& args);
/// Checks shape and type, if it is given.
void check_out_low(std::string_view op, const AttentionArgs& args, const Operand& out_low);
std::string_view out_legend(const AttentionArgs& args);
std::string_view lse_legend(const AttentionArgs& args);
/// Checks per-row numbers: memory, row-major, the type of lse, and the shape of lse or `shape`.
void check_row_numbers(std::string_view op, const AttentionArgs& args, const Operand& rows);
void check_row_numbers(std::string_view op, const AttentionArgs& args, const Operand& rows,
                       const Shape& shape, std::string_view legend);

bool is_paged(const Keys& keys);
bool is_ring(const Keys& keys);
/// k or v, its scales, and their names in messages.
struct KeyInput {
  Operand values;
  Operand scales;
};
std::array<KeyInput, 2> key_inputs(const Keys& keys);
void check_key_form(const AttentionArgs& args);  // exactly one form, with all its parts
void check_scales(const Keys& keys);
/// Number of slots in a row of keys.
std::int64_t key_room(const Keys& keys);
/// Sets form, scales and pages of `checked`, whose sequences must be known.
void resolve_key_form(const Keys& keys, CheckedAttention& checked);
/// Why k (or v) has no gradient; empty if it has one.
std::string_view gradient_refusal(const Keys& keys, const ConstView& operand);

/// The extents of each batch, with all defaults filled in.
std::vector<kernels::Sequence> resolved_sequences(const AttentionArgs& args);

/// The scale of similarities, one per head; throws if scores.scale does not fit the heads or is not
/// finite.
std::vector<double> resolved_scale(const AttentionArgs& args);
/// Checks scores and dropout, and stores them in `checked`, whose extents must be set.
void resolve_scores(const AttentionArgs& args, CheckedAttention& checked);
std::string_view name(Normaliser normaliser);

kernels::Input kernel_input(const ConstView& view);     // of rank 4, or packed; null if not given
kernels::Output kernel_output(const View& view);        // likewise
kernels::Input broadcast_input(const ConstView& view);  // of at most rank 4; extent 1: stride 0

}  // namespace heed
