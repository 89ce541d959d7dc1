# --- MPI, where it is found: a module that the program opens where several processes are started ---
option(HEED_MPI "Build the module for several processes, where MPI is found" ON)
if(HEED_MPI)
  set(MPI_CXX_SKIP_MPICXX ON)  # its C interface: the C++ bindings are dropped
  find_package(MPI QUIET COMPONENTS CXX)
endif()
if(HEED_MPI AND MPI_CXX_FOUND)
  add_library(heed_mpi MODULE src/mpi/mpi_ranks.cpp)
  set_target_properties(heed_mpi PROPERTIES PREFIX "" SUFFIX .so
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  target_include_directories(heed_mpi PRIVATE include src)
  target_link_libraries(heed_mpi PRIVATE MPI::MPI_CXX heed_warnings)
  heed_optimise(heed_mpi -O2)
endif()
