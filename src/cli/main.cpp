#include "cli/program.h"

int main(int count, char** values) { return heed::cli::run_program({values + 1, values + count}); }
