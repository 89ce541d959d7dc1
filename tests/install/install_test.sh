#!/usr/bin/env bash
# Uses heed as others do: install_test.sh HOW SOURCE BUILD VERSION; HOW is find_package, pkg_config or
# add_subdirectory, or c_find_package or c_pkg_config, a project in C; or missing, a machine without what
# heed is made of; or unbuilt, a build that was not finished.
# `install` first puts the package into BUILD/install_test/prefix. $CXX is the compiler, $CC that of C.
set -euo pipefail
how=$1 source=$2 build=$3 version=$4
prefix=$build/install_test/prefix work=$build/install_test/$how
expected="heed $version, a tensor of 6 values"

fresh_folder() {
  rm -rf "$1"
  mkdir -p "$1"
}

# configure_consumer OPTION...
configure_consumer() {
  cmake -S "$source/tests/install" -B "$work" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_CXX_COMPILER="$CXX" "$@"
}

expect_greeting() {
  local found
  found=$("$work/consumer")
  [[ $found == "$expected" ]] || { echo "printed '$found', expected '$expected'" && exit 1; }
}

expect_example() {
  "$work/attention" | grep -F "a wrong shape is refused: attention: k.shape[3] is 4, expected 8 (q's head size)"
}

case $how in
  missing)
    fresh_folder "$work"
    ! cmake -S "$source" -B "$work" -DCMAKE_CXX_COMPILER="$CXX" "-DCMAKE_IGNORE_PATH=/usr/include;/usr/local/include" \
      >"$work/log" 2>&1
    grep -F "apt-get install libfmt-dev libhwy-dev nlohmann-json3-dev" "$work/log"
    ;;
  install)
    fresh_folder "$prefix"
    cmake --install "$build" --prefix "$prefix"
    ;;
  unbuilt)  # a library is missing: nothing is written, and the program alone can be installed
    fresh_folder "$work"
    sed "s|libheed_c.so.$version|libheed_c.so.unbuilt|g" "$build/cmake_install.cmake" >"$work/cmake_install.cmake"
    ! cmake "-DCMAKE_INSTALL_PREFIX=$work/all" -P "$work/cmake_install.cmake" >"$work/log" 2>&1
    [[ ! -e $work/all ]] || { echo "half an installation: $(find "$work/all")" && exit 1; }
    tr -s '\n ' ' ' <"$work/log" | grep -F "libheed_c.so.unbuilt is not built, and nothing is installed"
    cmake "-DCMAKE_INSTALL_PREFIX=$work/program" -DCMAKE_INSTALL_COMPONENT=program -P "$work/cmake_install.cmake"
    "$work/program/bin/heed" --version
    ;;
  find_package)
    fresh_folder "$work"
    configure_consumer -DCMAKE_PREFIX_PATH="$prefix"
    cmake --build "$work"
    expect_greeting
    ;;
  pkg_config)
    fresh_folder "$work"
    pc=$(find "$prefix" -name heed.pc)
    flags=$(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --cflags --libs heed)
    [[ $flags != *-D* ]] || { echo "pkg-config gives $flags" && exit 1; }
    "$CXX" -std=c++20 "$source/tests/install/consumer.cpp" -o "$work/consumer" \
      -Wl,--whole-archive "$(find "$prefix" -name libheed.a)" -Wl,--no-whole-archive $flags
    expect_greeting
    ;;
  attention_find_package | attention_pkg_config)  # it needs the runtimes of C and C++ alone
    fresh_folder "$work"
    if [[ $how == *pkg_config ]]; then
      pc=$(find "$prefix" -name heed-attention.pc)
      "$CXX" -std=c++20 -O2 "$source/examples/attention/attention_alone.cpp" -o "$work/attention_alone" \
        $(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --cflags --libs heed-attention)
    else
      cmake -S "$source/examples/attention" -B "$work" -G Ninja -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_CXX_COMPILER="$CXX" -DCMAKE_PREFIX_PATH="$prefix"
      cmake --build "$work"
    fi
    "$work/attention_alone" >"$work/said"
    diff "$work/said" - <<<"the last row's mean: 2.0
the gradient of the first value: 2.72
the last row's entropy: 1.6094"
    ! readelf -d "$work/attention_alone" | grep NEEDED | grep -vE "lib(stdc\+\+|m|gcc_s|c)\.so|ld-linux"
    strip "$work/attention_alone"
    stat -c "%s bytes without symbols" "$work/attention_alone"
    ;;
  c_find_package)
    fresh_folder "$work"
    cmake -S "$source/tests/install/c" -B "$work" -G Ninja -DCMAKE_C_COMPILER="$CC" \
      -DEXAMPLE="$source/examples/c/attention.c" -DCMAKE_PREFIX_PATH="$prefix"
    cmake --build "$work"
    expect_example
    ;;
  cplusplus17)  # one line says what it needs
    fresh_folder "$work"
    echo '#include "heed/heed.h"' >"$work/old.cpp"
    ! "$CXX" -std=c++17 -I"$source/include" -fsyntax-only "$work/old.cpp" 2>"$work/log"
    [[ $(grep -c "error:" "$work/log") == 1 ]] && grep -F "heed needs C++20" "$work/log"
    ;;
  c_alone)  # the library of C depends on the runtimes of C and C++
    library=$(find "$prefix" -name "libheed_c.so.$version")
    ! readelf -d "$library" | grep NEEDED | grep -vE "lib(stdc\+\+|m|gcc_s|c)\.so|ld-linux"
    ;;
  components)
    fresh_folder "$work"
    mkdir "$work/project"
    printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(p LANGUAGES CXX)' \
      'find_package(heed 0.2 COMPONENTS ${asked})' 'message("found ${heed_FOUND} ${heed_NOT_FOUND_MESSAGE}")' \
      >"$work/project/CMakeLists.txt"
    for asked in cpp "c;cpp" attention other; do
      cmake -S "$work/project" -B "$work/${asked//;/_and_}" -G Ninja -DCMAKE_CXX_COMPILER="$CXX" \
        -DCMAKE_PREFIX_PATH="$prefix" "-Dasked=$asked" >"$work/log" 2>&1
      case $asked in
        other) grep -F "heed has the components attention, c and cpp, not other" "$work/log" ;;
        *) grep -F "found TRUE" "$work/log" || grep -F "found 1" "$work/log" ;;
      esac
    done
    ;;
  c_pkg_config)
    fresh_folder "$work"
    pc=$(find "$prefix" -name heed-c.pc)
    flags=$(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --cflags --libs heed-c)
    "$CC" -std=c99 -Wall -Wextra -pedantic -Werror "$source/examples/c/attention.c" -o "$work/attention" $flags
    LD_LIBRARY_PATH=$(dirname "$(dirname "$pc")") expect_example
    ;;
  add_subdirectory)  # compiles the consumer alone: the library was compiled once for all tests
    fresh_folder "$work"
    configure_consumer -DHEED_FOLDER="$source"
    cmake --build "$work" --target CMakeFiles/consumer.dir/consumer.cpp.o
    ninja -C "$work" -t commands consumer | grep libheed.a >/dev/null
    ! ninja -C "$work" -t targets all | grep -E "heed_(serve|cli|program)"
    ;;
esac
