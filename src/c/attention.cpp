#include "heed/c/attention.h"

#include "c/guard.h"
#include "c/problem.h"

heed_status heed_attention(const heed_attention_args* args, const heed_attended* into) {
  return heed::c::guarded([&] {
    const heed::AttentionArgs problem = heed::c::attention_args("attention", args);
    heed::attention(problem, heed::c::attended_view("attention", "into", into));
  });
}
