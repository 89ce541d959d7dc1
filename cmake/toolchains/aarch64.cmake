# Builds heed::attention and its tests for 64-bit ARM with Debian's cross compiler; qemu-user runs them:
# cmake -S . -B build/arm -G Ninja -DCMAKE_TOOLCHAIN_FILE=cmake/toolchains/aarch64.cmake -DHEED_PROGRAM=OFF
# Debian's packages: g++-aarch64-linux-gnu qemu-user googletest
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
# fmt's headers are all that is used of it; Debian keeps their CMake files under this machine's name.
file(GLOB fmt_DIR /usr/lib/*-linux-gnu/cmake/fmt)
