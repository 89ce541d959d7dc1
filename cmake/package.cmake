# The packages of Debian, as `./dev package` makes them: heed (the program and its model), libheed-c0
# (the shared library of C) and libheed-dev (headers, the static library, CMake and pkg-config).
set(HEED_MAINTAINER "heed maintainers <root@localhost>" CACHE STRING "Who answers for the packages")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME heed)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT ${HEED_MAINTAINER})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program runtime development)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# heed_package(COMPONENT NAME SECTION SUMMARY DESCRIPTION)
function(heed_package component name section summary description)
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${summary}\n${description}" PARENT_SCOPE)
  install(FILES ${PROJECT_BINARY_DIR}/generated/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name}
    COMPONENT ${component} EXCLUDE_FROM_ALL)
endfunction()
heed_package(program heed science "Exact attention that can be seen through"
  "heed shows who attends to whom in a transformer: every weight of every head,\nat any length, in a page, in the terminal and in files. A small model comes\nwith it.")
heed_package(runtime libheed-c0 libs "Exact attention that can be seen through (library of C)"
  "heed computes attention, its gradients and any question about its weights in\nmemory that grows with the text and not with its square. This is the shared\nlibrary for C and for languages that call C.")
heed_package(development libheed-dev libdevel "Exact attention that can be seen through (development)"
  "Headers for C and C++, the static library of C++, and what CMake and\npkg-config need to find them.")
set(control ${PROJECT_BINARY_DIR}/generated/control)  # what programs that link it depend on; the linker's cache
file(CONFIGURE OUTPUT ${control}/shlibs CONTENT "libheed_c 0 libheed-c0 (>= ${PROJECT_VERSION})\n")
file(CONFIGURE OUTPUT ${control}/triggers CONTENT "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${control}/shlibs ${control}/triggers)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "libheed-c0 (= ${PROJECT_VERSION}), libfmt-dev (>= 9), libhwy-dev, libutf8proc-dev, pkg-config")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS chromium)  # pictures of the page

file(READ ${PROJECT_SOURCE_DIR}/THIRD_PARTY.md NOTICES)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/copyright CONTENT
  "heed is licensed under the Apache License, Version 2.0. On Debian systems its text stands in
/usr/share/common-licenses/Apache-2.0.

@NOTICES@" @ONLY)
include(CPack)
