#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/api/checked.h"
#include "heed/attention.h"
#include "heed/ranks.h"
#include "ranks/ring.h"
#include "ranks/travelling.h"
#include "tensor/computable.h"
#include "tensor/views.h"

namespace heed {
namespace {

constexpr std::string_view kOp = "ring_attention";

// out + out_low in f32, for 16-bit types.
Tensor widened(const Attended& part) {
  Tensor wide = Tensor::converted(part.out, DType::kF32);
  const Tensor low = Tensor::converted(part.out_low, DType::kF32);
  for (std::int64_t i = 0; i < wide.element_count(); ++i)
    wide.data<float>()[i] += low.data<float>()[i];
  return wide;
}

// The rounding error of `wide` rounded to 16 bits.
Tensor lost_by(const ConstView& wide, const ConstView& rounded) {
  Tensor low = Tensor::converted(rounded, DType::kF32);
  for (std::int64_t i = 0; i < low.element_count(); ++i) {
    float& value = low.data<float>()[i];
    value = std::isfinite(value) ? wide.data<float>()[i] - value : 0.0F;
  }
  return Tensor::converted(low, rounded.dtype());
}

void fill_nothing(Tensor& lse) {
  in_computing_type(lse.dtype(), [&]<typename T>(T /*zero*/) {
    std::fill_n(lse.data<T>(), lse.element_count(), -std::numeric_limits<T>::infinity());
  });
}

// Attention of some rows to no keys: neutral in a merge.
Attended nothing(const AttentionArgs& rows, std::int64_t value_width) {
  const ConstView& q = rows.q;
  const DType type = sum_type(q);
  Attended none;
  none.out = Tensor::zeros({q.dim(0), q.dim(1), q.dim(2), value_width}, type);
  if (!has_lse(rows)) return none;
  none.lse = Tensor::empty({q.dim(0), q.dim(1), q.dim(2)}, type);
  fill_nothing(none.lse);
  none.lse_low = Tensor::zeros(none.lse.shape(), type);
  return none;
}

// The rows of one held part and their result so far.
class RowsSoFar {
 public:
  RowsSoFar(const AttentionArgs& rows, std::int64_t value_width, const ConstView& sink)
      : seen_(merge(nothing(rows, value_width), nothing(rows, value_width), sink)) {}

  void add(Attended part) {
    if (part.out_low.given()) part.out = widened(part);
    part.out_low = {};
    seen_ = merge(seen_, part);
  }

  void write(const HeldPart& rows, Attended& into) const {
    const auto place = [&](Tensor& of) {
      return of.view().slice(2, rows.at, rows.at + rows.size());
    };
    const Tensor out = Tensor::converted(seen_.out, into.out.dtype());
    copy_elements(out, place(into.out));
    if (into.out_low.given()) copy_elements(lost_by(seen_.out, out), place(into.out_low));
    if (!into.lse.given()) return;
    copy_elements(seen_.lse, place(into.lse));
    copy_elements(seen_.lse_low, place(into.lse_low));
  }

 private:
  Attended seen_;
};

Attended empty_attended(const AttentionArgs& local) {
  Attended made;
  made.out = Tensor::empty(out_shape(local), local.q.dtype());
  if (has_out_low(local)) made.out_low = Tensor::empty(out_shape(local), local.q.dtype());
  if (!has_lse(local)) return made;
  const DType type = sum_type(local.q);
  const Shape rows = {local.q.dim(0), local.q.dim(1), local.q.dim(2)};
  made.lse = Tensor::empty(rows, type);
  made.lse_low = Tensor::empty(rows, type);
  return made;
}

}  // namespace

Attended ring_attention(Ranks& ranks, const RingAttentionArgs& args) {
  const Ring ring(ranks, args, kOp);
  TravellingKeys keys(ranks, ring, args.local.keys);
  std::vector<RowsSoFar> rows;
  for (const HeldPart& part : ring.own())
    rows.emplace_back(ring.between(part, part, args.local.keys), args.local.keys.v.dim(3),
                      args.local.scores.sink);
  for (int step = 0; step < ring.count(); ++step) {
    const bool last = step + 1 == ring.count();
    if (!last) keys.depart(step);
    const Keys here = keys.here();
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (const HeldPart& part : ring.parts(ring.holder(step)))
        if (ring.meet(ring.own()[i], part))
          rows[i].add(attention(ring.between(ring.own()[i], part, here)));
    if (!last) keys.arrive();
  }
  Attended attended = empty_attended(args.local);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].write(ring.own()[i], attended);
  return attended;
}

}  // namespace heed
