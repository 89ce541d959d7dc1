# HEED_SANITIZE: address, undefined or thread (or some, with commas), for all that is compiled here.
# The presets compile with -O1 -g1: with -O2 -g, matmul_kernels.cpp alone took 161 s, not 23.
if(HEED_SANITIZE)
  add_compile_options(-fsanitize=${HEED_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${HEED_SANITIZE})
  if(HEED_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=all)
  endif()
endif()
