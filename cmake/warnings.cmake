add_library(heed_warnings INTERFACE)
target_compile_options(heed_warnings INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wconversion
  -Wno-sign-conversion)
