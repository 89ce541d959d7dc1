# Installing: headers, library, program, models, and how CMake and pkg-config find them.
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/heed)

# Components are what one may want without the rest: `program`, `runtime` (the shared library of C)
# and `development`. Without a name of a component, all are installed.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)

# cmake --install builds nothing, so it first looks for each file that was to be built: half an
# installation would be worse than none.
set(built_files "development $<TARGET_FILE:heed>" "runtime $<TARGET_FILE:heed_c>")
if(TARGET heed_program)
  list(APPEND built_files "program $<TARGET_FILE:heed_program>")
endif()
if(TARGET heed_mpi)
  list(APPEND built_files "mpi $<TARGET_FILE:heed_mpi>")
endif()
install(CODE "
  set(built_files \"${built_files}\")
  foreach(built IN LISTS built_files)
    string(REGEX MATCH \"^([a-z]+) (.+)$\" built \"\${built}\")
    if(NOT CMAKE_INSTALL_COMPONENT OR CMAKE_INSTALL_COMPONENT STREQUAL CMAKE_MATCH_1)
      if(NOT EXISTS \"\${CMAKE_MATCH_2}\")
        message(FATAL_ERROR \"heed: \${CMAKE_MATCH_2} is not built, and nothing is installed. \"
          \"To build all: cmake --build ${PROJECT_BINARY_DIR}. \"
          \"To install the program alone: cmake --install ${PROJECT_BINARY_DIR} --component program\")
      endif()
    endif()
  endforeach()" ALL_COMPONENTS)

install(DIRECTORY include/heed DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS heed_attention EXPORT heed-attention)
install(TARGETS heed EXPORT heed)
install(TARGETS heed_c EXPORT heed-c
  LIBRARY COMPONENT runtime NAMELINK_COMPONENT development)
if(TARGET heed_program)
  install(TARGETS heed_program RUNTIME COMPONENT program)
endif()
if(TARGET heed_mpi)  # in no package of the program, which would then need MPI
  install(TARGETS heed_mpi LIBRARY DESTINATION lib/heed COMPONENT mpi)
endif()
if(EXISTS ${PROJECT_SOURCE_DIR}/models)
  install(DIRECTORY models DESTINATION ${CMAKE_INSTALL_DATADIR}/heed COMPONENT program)
endif()

foreach(component attention c)
  install(EXPORT heed-${component} NAMESPACE heed:: FILE heed-${component}-targets.cmake DESTINATION ${package_folder})
endforeach()
install(EXPORT heed NAMESPACE heed:: FILE heed-targets.cmake DESTINATION ${package_folder})
configure_package_config_file(cmake/heed-config.cmake.in heed-config.cmake
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(heed-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/heed-config.cmake
  ${PROJECT_BINARY_DIR}/heed-config-version.cmake
  cmake/dependencies.cmake
  DESTINATION ${package_folder})

file(RELATIVE_PATH path_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)  # so that it can be moved
foreach(name heed heed-attention heed-c)
  configure_file(cmake/${name}.pc.in ${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
include(cmake/package.cmake)
