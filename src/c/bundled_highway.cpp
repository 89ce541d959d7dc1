// The functions of libhwy that heed calls, so that this library does not depend on it. The version
// script keeps them from being seen outside.
#include <hwy/aligned_allocator.h>
#include <hwy/targets.h>

#if HWY_ARCH_X86_64

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace hwy {
namespace {

// Before each block lies its size. 128 bytes are two cache lines, as Highway aligns.
constexpr std::size_t kHeader = 128;

std::int64_t disabled = 0;

bool has_avx2() {
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
         __builtin_cpu_supports("bmi") != 0 && __builtin_cpu_supports("bmi2") != 0;
}

bool has_avx3() {
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512cd") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0;
}

}  // namespace

// heed gives no allocator of its own.
void* AllocateAlignedBytes(std::size_t payload_size, AllocPtr, void*) {
  const std::size_t whole = (payload_size + 2 * kHeader - 1) / kHeader * kHeader;
  auto* const block = static_cast<char*>(std::aligned_alloc(kHeader, whole));
  if (block == nullptr) return nullptr;
  std::memcpy(block, &payload_size, sizeof payload_size);
  return block + kHeader;
}

void FreeAlignedBytes(const void* aligned_pointer, FreePtr, void*) {
  if (aligned_pointer != nullptr)
    std::free(static_cast<char*>(const_cast<void*>(aligned_pointer)) - kHeader);
}

void AlignedDeleter::DeleteAlignedArray(void* aligned_pointer, FreePtr, void*,
                                        ArrayDeleter deleter) {
  if (aligned_pointer == nullptr) return;
  std::size_t payload_size = 0;
  std::memcpy(&payload_size, static_cast<char*>(aligned_pointer) - kHeader, sizeof payload_size);
  if (deleter != nullptr) deleter(aligned_pointer, payload_size);
  FreeAlignedBytes(aligned_pointer, nullptr, nullptr);
}

void DisableTargets(std::int64_t disabled_targets) { disabled = disabled_targets; }

std::int64_t SupportedTargets() {
  __builtin_cpu_init();  // may be called before constructors have run
  std::int64_t targets = 0;
  if (has_avx2()) targets |= HWY_AVX2;
  if (has_avx2() && has_avx3()) targets |= HWY_AVX3;
  targets &= ~disabled;
  return targets | HWY_SCALAR | HWY_EMU128;
}

ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

}  // namespace hwy

#endif
