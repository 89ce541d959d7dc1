#include "c/problem.h"

#include "c/given.h"
#include "heed/error.h"

namespace heed::c {
namespace {

Keys keys_of(std::string_view op, const heed_attention_args& args) {
  return {.k = view_of(op, "k", args.k),
          .v = view_of(op, "v", args.v),
          .page_table = view_of(op, "page_table", args.page_table),
          .ring_begin = integers_of(op, "ring_begin", args.ring_begin),
          .k_scales = view_of(op, "k_scales", args.k_scales),
          .v_scales = view_of(op, "v_scales", args.v_scales)};
}

Extents extents_of(std::string_view op, const heed_attention_args& args) {
  return {.query_length = integers_of(op, "query_length", args.query_length),
          .key_begin = integers_of(op, "key_begin", args.key_begin),
          .key_length = integers_of(op, "key_length", args.key_length),
          .q_offset = integers_of(op, "q_offset", args.q_offset),
          .key_offset = integers_of(op, "key_offset", args.key_offset),
          .query_starts = integers_of(op, "query_starts", args.query_starts),
          .key_starts = integers_of(op, "key_starts", args.key_starts)};
}

Scores scores_of(std::string_view op, const heed_attention_args& args) {
  check_enumerator(op, "similarity", args.similarity, 4, "0 (dot) to 3 (absolute distance)");
  check_enumerator(op, "normaliser", args.normaliser, 3, "0 (softmax) to 2 (none)");
  return {.scale = numbers_of(op, "scale", args.scale),
          .similarity = static_cast<Similarity>(args.similarity),
          .softcap = args.softcap,
          .bias = view_of(op, "bias", args.bias),
          .alibi = view_of(op, "alibi", args.alibi),
          .sink = view_of(op, "sink", args.sink),
          .normaliser = static_cast<Normaliser>(args.normaliser)};
}

static_assert(HEED_SIMILARITY_ABSOLUTE == static_cast<int>(Similarity::kAbsolute) &&
              HEED_NORMALISER_NONE == static_cast<int>(Normaliser::kNone));

}  // namespace

AttentionArgs attention_args(std::string_view op, const heed_attention_args* given) {
  const auto args = given_struct(op, "args", given);
  check_reserved(op, "reserved", args.reserved);
  AttentionArgs made = {.q = view_of(op, "q", args.q),
                        .keys = keys_of(op, args),
                        .extents = extents_of(op, args),
                        .scores = scores_of(op, args)};
  if (args.mask != nullptr) made.mask = args.mask->mask;
  if (args.dropout_rate != 0)
    made.dropout = Dropout{
        .rate = args.dropout_rate, .seed = args.dropout_seed, .offset = args.dropout_offset};
  if (args.kernel != nullptr) made.kernel = args.kernel;
  return made;
}

AttendedView attended_view(std::string_view op, std::string_view argument,
                           const heed_attended* given) {
  const auto attended = given_struct(op, argument, given);
  const auto view = [&](const char* field, const heed_view& of) {
    return view_of(op, argument == "attended" ? std::string("attended.") + field : field, of);
  };
  return {.out = view("out", attended.out),
          .lse = view("lse", attended.lse),
          .lse_low = view("lse_low", attended.lse_low),
          .out_low = view("out_low", attended.out_low)};
}

AttendedConstView attended_const_view(std::string_view op, const heed_attended* given) {
  const AttendedView view = attended_view(op, "attended", given);
  return {.out = view.out, .lse = view.lse, .lse_low = view.lse_low, .out_low = view.out_low};
}

void check_memory(std::string_view op, const Place& place, std::span<const Operand> taken) {
  require_memory(op, place.operand());
  require_apart(op, place.operand(), taken);
}

void check_fits(std::string_view op, const Place& place, const Shape& shape, DType dtype) {
  if (place.into.dtype() != dtype)
    fail(op, place.name, heed::name(place.into.dtype()), heed::name(dtype));
  if (place.into.shape() != shape)
    fail(op, place.name + ".shape", to_string(place.into.shape()), to_string(shape));
}

}  // namespace heed::c
