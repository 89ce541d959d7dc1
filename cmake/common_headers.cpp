// Nothing of its own: compile_time.cmake has the headers that all targets share compiled with it,
// once.
