// The main of every test program.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "shared/base/stop.h"

int main(int argc, char** argv) {
  nobs::ignore_sigpipe();
  return doctest::Context(argc, argv).run();
}
