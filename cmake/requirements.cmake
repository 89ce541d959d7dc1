# What heed's source takes from Debian and Ubuntu: where something is missing, one line says what to
# install, in place of the first package that CMake does not find.
set(missing)
foreach(row IN ITEMS
    "fmt/format.h libfmt-dev" "hwy/highway.h libhwy-dev" "nlohmann/json.hpp nlohmann-json3-dev"
    "CLI/CLI.hpp libcli11-dev" "utf8proc.h libutf8proc-dev" "httplib.h libcpp-httplib-dev"
    "zlib.h zlib1g-dev")
  string(REPLACE " " ";" row ${row})
  list(GET row 0 header)
  list(GET row 1 package)
  find_path(HEED_HAS_${package} ${header})
  mark_as_advanced(HEED_HAS_${package})
  if(NOT HEED_HAS_${package})
    list(APPEND missing ${package})
  endif()
endforeach()
find_program(HEED_HAS_pkg-config NAMES pkg-config pkgconf)
mark_as_advanced(HEED_HAS_pkg-config)
if(NOT HEED_HAS_pkg-config)
  list(APPEND missing pkg-config)
endif()
if(missing)
  list(JOIN missing " " missing)
  message(FATAL_ERROR " heed needs these packages of Debian or Ubuntu: apt-get install ${missing}")
endif()
