# HEED_SANITIZE: address, undefined or thread, for all that is compiled here.
if(HEED_SANITIZE)
  add_compile_options(-fsanitize=${HEED_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${HEED_SANITIZE})
  if(HEED_SANITIZE STREQUAL "undefined")
    add_compile_options(-fno-sanitize-recover=all)
  endif()
endif()
