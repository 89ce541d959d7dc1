// The border of the attention operator: what the caller gave, checked and resolved for the kernels.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "attention/problem.h"
#include "heed/attention.h"
#include "tensor/operand.h"

namespace heed {

/// Owns what `problem` points to. Moves; a copy would point into the original.
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

/// q, k, v, the bias and the rest: an output may overlap none of them.
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
/// Checks shape and type, where it is given.
void check_out_low(std::string_view op, const AttentionArgs& args, const Operand& out_low);
std::string_view out_legend(const AttentionArgs& args);
std::string_view lse_legend(const AttentionArgs& args);
/// Checks numbers for each row: row-major, in the type of lse, with memory, and of the shape of lse
/// or of `shape`.
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
void check_key_form(const AttentionArgs& args);  // exactly one form, with all that it needs
void check_scales(const Keys& keys);
/// Slots that a row of keys has.
std::int64_t key_room(const Keys& keys);
/// Form, scales and pages of `checked`, whose sequences are known.
void resolve_key_form(const Keys& keys, CheckedAttention& checked);
/// Why k (or v) has no gradient; empty when it has.
std::string_view gradient_refusal(const Keys& keys, const ConstView& operand);

/// The extents of each batch, with every default resolved.
std::vector<kernels::Sequence> resolved_sequences(const AttentionArgs& args);

/// The factor of similarities: one number a head; throws where scores.scale does not fit the heads
/// or is not finite.
std::vector<double> resolved_scale(const AttentionArgs& args);
/// Checks scores and dropout, and puts them into `checked`, whose problem has its extents.
void resolve_scores(const AttentionArgs& args, CheckedAttention& checked);
std::string_view name(Normaliser normaliser);

kernels::Input kernel_input(const ConstView& view);     // of rank 4, or packed; not given: null
kernels::Output kernel_output(const View& view);        // likewise
kernels::Input broadcast_input(const ConstView& view);  // of at most rank 4: stride 0 where it is 1

}  // namespace heed
