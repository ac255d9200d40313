// What most test programs include, precompiled once for each group of them.  Every source still
// includes what it uses: with -Db_pch=false this file is not read.  No more than that: what is
// precompiled and not used costs time in each source.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>
