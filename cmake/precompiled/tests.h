#include "cmake/precompiled/libraries.h"
#include "gtest/gtest.h"
