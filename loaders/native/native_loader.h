// The loader of shared libraries that export tesseract_plugin_v1.  Built into the host library.
#pragma once

#include <tesseract_host/loader.h>

// A table that lives as long as the process.
const tesseract_loader_table &native_loader_table();
