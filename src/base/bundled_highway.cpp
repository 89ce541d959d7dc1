// The functions of libhwy that heed calls, so that programs that link heed do not need libhwy. All
// of heed is compiled with hwy=heed_hwy: a program that uses Highway itself keeps libhwy's
// functions, which choose among more instruction sets.
#include <hwy/aligned_allocator.h>
#include <hwy/targets.h>

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

namespace hwy {
namespace {

// The size is stored before each block. 128 bytes are two cache lines, Highway's alignment.
constexpr std::size_t kHeader = 128;

std::int64_t disabled = 0;

#if HWY_ARCH_X86_64
bool has_avx2() {
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
         __builtin_cpu_supports("bmi") != 0 && __builtin_cpu_supports("bmi2") != 0;
}

bool has_avx3() {
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512cd") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0;
}

std::int64_t targets_of_cpu() {
  __builtin_cpu_init();  // may be called before constructors have run
  std::int64_t targets = 0;
  if (has_avx2()) targets |= HWY_AVX2;
  if (has_avx2() && has_avx3()) targets |= HWY_AVX3;
  return targets & HWY_TARGETS;  // those that heed was compiled for
}
#else
std::int64_t targets_of_cpu() { return HWY_STATIC_TARGET; }
#endif

}  // namespace

// heed never passes a custom allocator.
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

std::int64_t SupportedTargets() { return (targets_of_cpu() & ~disabled) | HWY_SCALAR | HWY_EMU128; }

ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

// Called for a failed Highway assertion, in builds that check them.
HWY_NORETURN void Abort(const char* file, int line, const char* format, ...) {
  char text[256];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  throw std::logic_error(std::string(file) + ":" + std::to_string(line) + ": " + text);
}

}  // namespace hwy
