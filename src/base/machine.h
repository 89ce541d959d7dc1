// This machine: its instruction sets, CPU name and memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace heed {

/// In ascending order: each includes the ones before it.
enum class Isa : std::uint8_t { kPortable, kAvx2, kAvx512, kAvx512Bf16, kAmx };

/// The widest instruction set that $HEED_ISA (portable, avx2, avx512, avx512-bf16, amx) allows;
/// kAmx if it is not set. It is read once, before main, so that kernels for wider ones are never
/// chosen. kNotFound for any other value.
Isa allowed_isa();

/// Highway's targets that this CPU has and that are allowed. Use it instead of
/// hwy::SupportedTargets, which re-enables disabled targets.
std::int64_t highway_targets();

/// Whether this CPU multiplies bf16 in pairs faster than floats: AMD's with AVX512-BF16 do, Intel's
/// have half the rate of f32.
bool multiplies_bf16_fast();

/// Whether this CPU sums four products of bytes in one instruction (AVX512-VNNI). $HEED_ISA must
/// allow more than avx512.
bool multiplies_bytes_in_fours();

/// The system's name for it ("AMD EPYC 9575F 64-Core Processor"), or "unknown CPU".
std::string cpu_name();

/// Memory available to this process in bytes: the machine's, or the limit of its control group if
/// that is less.
double memory_there();

/// Bytes that this process may take now without swapping: what the system calls available, or less
/// where a control group leaves less. None where the system does not say. `root` is where /proc and
/// /sys lie.
std::optional<std::int64_t> memory_free(const std::filesystem::path& root = "/");

}  // namespace heed
