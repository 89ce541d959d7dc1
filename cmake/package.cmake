# The packages of Debian, as `./dev package` makes them: heed (the program and its model), libheed-c0
# (the shared library of C), libheed-dev (headers, the static library, CMake and pkg-config) and, where
# MPI is found, heed-mpi (the program's module for several processes).
# Who made a package answers for it: as for Debian's own tools, $DEBFULLNAME and $DEBEMAIL say who that is.
set(maintainer "heed maintainers <heed@localhost>")
if(DEFINED ENV{DEBFULLNAME} AND DEFINED ENV{DEBEMAIL})
  set(maintainer "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
endif()
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME heed)
set(CPACK_DEBIAN_PACKAGE_SOURCE heed)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT ${maintainer})
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
  install(FILES ${PROJECT_BINARY_DIR}/generated/copyright ${PROJECT_BINARY_DIR}/generated/changelog.gz
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name}
    COMPONENT ${component} EXCLUDE_FROM_ALL)
endfunction()
heed_package(program heed science "Exact attention that can be seen through"
  "heed shows who attends to whom in a transformer: every weight of every head,\nat any length, in a page, in the terminal and in files. A small model comes\nwith it.")
heed_package(runtime libheed-c0 libs "Exact attention that can be seen through (library of C)"
  "heed computes attention, its gradients and any question about its weights in\nmemory that grows with the text and not with its square. This is the shared\nlibrary for C and for languages that call C.")
heed_package(development libheed-dev libdevel "Exact attention that can be seen through (development)"
  "Headers for C and C++, the static library of C++, and what CMake and\npkg-config need to find them.")
if(TARGET heed_mpi)
  list(APPEND CPACK_COMPONENTS_ALL mpi)
  heed_package(mpi heed-mpi science "Exact attention that can be seen through (several processes)"
    "The module with which heed trains one model, and computes attention of one\nlong text, on several processes that MPI has started.")
  set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "heed (= ${PROJECT_VERSION})")
  set(CPACK_DEBIAN_MPI_PACKAGE_RECOMMENDS openmpi-bin)
endif()
set(control ${PROJECT_BINARY_DIR}/generated/control)  # what programs that link it depend on; the linker's cache
file(CONFIGURE OUTPUT ${control}/shlibs CONTENT "libheed_c 0 libheed-c0 (>= ${PROJECT_VERSION})\n")
file(CONFIGURE OUTPUT ${control}/triggers CONTENT "activate-noawait ldconfig\n")
# CPack would add scripts that run ldconfig too, as the trigger does, were scripts of these names not named here;
# there are none.
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA
  ${control}/shlibs ${control}/triggers ${control}/none/postinst ${control}/none/postrm)
set(CPACK_DEBIAN_MPI_PACKAGE_CONTROL_EXTRA ${control}/none/postinst ${control}/none/postrm)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "libheed-c0 (= ${PROJECT_VERSION}), libfmt-dev (>= 9), libutf8proc-dev, libpcre2-dev, pkg-config")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS chromium)  # pictures of the page

file(READ ${PROJECT_SOURCE_DIR}/THIRD_PARTY.md NOTICES)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/copyright CONTENT
  "heed is licensed under the Apache License, Version 2.0. On Debian systems its text stands in
/usr/share/common-licenses/Apache-2.0.

@NOTICES@" @ONLY)

# The date is that of the last change, so that two builds of one source have the same bytes.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/CHANGELOG.md)
if(NOT DEFINED ENV{SOURCE_DATE_EPOCH})
  execute_process(COMMAND git log -1 --format=%ct -- CHANGELOG.md WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    OUTPUT_VARIABLE changed OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(changed)
    set(ENV{SOURCE_DATE_EPOCH} ${changed})
  endif()
endif()
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
string(TIMESTAMP day "%Y-%m-%d" UTC)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/changelog CONTENT
  "heed (${PROJECT_VERSION}) unstable; urgency=medium

  * See CHANGELOG.md of the source.

 -- ${maintainer}  ${date}
")
execute_process(COMMAND gzip -9 -n -c ${PROJECT_BINARY_DIR}/generated/changelog
  OUTPUT_FILE ${PROJECT_BINARY_DIR}/generated/changelog.gz COMMAND_ERROR_IS_FATAL ANY)

if(TARGET heed_program AND NOT CMAKE_CROSSCOMPILING)  # the page is what the program says
  set(man ${PROJECT_BINARY_DIR}/generated/heed.1.gz)
  add_custom_command(OUTPUT ${man}
    COMMAND ${CMAKE_COMMAND} -DHEED=$<TARGET_FILE:heed_program> -DVERSION=${PROJECT_VERSION} -DDATE=${day}
            -DOUT=${man} -P ${PROJECT_SOURCE_DIR}/cmake/man_page.cmake
    DEPENDS heed_program ${PROJECT_SOURCE_DIR}/cmake/man_page.cmake
    COMMENT "Writing the manual page" VERBATIM)
  add_custom_target(heed_man ALL DEPENDS ${man})
  install(FILES ${man} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program OPTIONAL)
endif()
include(CPack)
