// This machine: its instruction sets, the name of its CPU, its memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace heed {

/// In rising order: each allows what stands before it.
enum class Isa : std::uint8_t { kPortable, kAvx2, kAvx512, kAvx512Bf16, kAmx };

/// The widest one that $HEED_ISA (portable, avx2, avx512, avx512-bf16, amx) allows; kAmx when it is
/// not set. It is read once, before main: kernels for the others are not chosen. kNotFound for any
/// other value.
Isa allowed_isa();

/// Highway's targets that this CPU has and that are allowed. In place of hwy::SupportedTargets,
/// which enables again what is disabled.
std::int64_t highway_targets();

/// As the system names it ("AMD EPYC 9575F 64-Core Processor"), or "unknown CPU".
std::string cpu_name();

/// Bytes that this process may have: the machine's, or what its control group allows where that is
/// less.
double memory_there();

/// Bytes that this process may take now without swapping: what the system calls available, or less
/// where a control group leaves less. None where the system does not say. `root` is where /proc and
/// /sys lie.
std::optional<std::int64_t> memory_free(const std::filesystem::path& root = "/");

}  // namespace heed
