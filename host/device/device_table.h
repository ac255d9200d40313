// What ext/device.h offers.
#pragma once

#include <tesseract_host/ext/device.h>

namespace host {

extern const tesseract_device_table device_table;

}  // namespace host
