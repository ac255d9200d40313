// What the programs of the Python loader include more; see gtest.hpp.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "gtest.hpp"
