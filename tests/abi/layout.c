/* Where every member of every struct lies, on machines with pointers of 64 bits.  An offset that is
 * here once stays: members are only appended.  layout.py checks that none is missing. */
#include <tesseract_host/ext/adopt.h>
#include <tesseract_host/ext/device.h>
#include <tesseract_host/ext/draft/many_seeds.h>
#include <tesseract_host/ext/draft/python_call.h>
#include <tesseract_host/ext/nested.h>
#include <tesseract_host/ext/reference.h>
#include <tesseract_host/ext/unload.h>
#include <tesseract_host/host.h>
#include <tesseract_host/loader.h>
#include <tesseract_host/plugin.h>
#include <tesseract_host/types.h>

#define SIZE(type, size) _Static_assert(sizeof(type) == (size), "size of " #type);
#define OFFSET(type, member, offset) \
  _Static_assert(offsetof(type, member) == (offset), "place of " #type "." #member);

/* clang-format off */
SIZE(tesseract_many_seeds_plugin_table, 24)
OFFSET(tesseract_many_seeds_plugin_table, size, 0)
OFFSET(tesseract_many_seeds_plugin_table, flags, 4)
OFFSET(tesseract_many_seeds_plugin_table, jvp, 8)
OFFSET(tesseract_many_seeds_plugin_table, vjp, 16)

SIZE(tesseract_many_seeds_host_table, 16)
OFFSET(tesseract_many_seeds_host_table, size, 0)
OFFSET(tesseract_many_seeds_host_table, flags, 4)
OFFSET(tesseract_many_seeds_host_table, prepare, 8)

SIZE(tesseract_python_call_table, 56)
OFFSET(tesseract_python_call_table, size, 0)
OFFSET(tesseract_python_call_table, flags, 4)
OFFSET(tesseract_python_call_table, apply, 8)
OFFSET(tesseract_python_call_table, jvp, 16)
OFFSET(tesseract_python_call_table, vjp, 24)
OFFSET(tesseract_python_call_table, jacobian, 32)
OFFSET(tesseract_python_call_table, abstract_eval, 40)
OFFSET(tesseract_python_call_table, module, 48)

SIZE(tesseract_nested_table, 136)
OFFSET(tesseract_nested_table, size, 0)
OFFSET(tesseract_nested_table, flags, 4)
OFFSET(tesseract_nested_table, error_nested, 8)
OFFSET(tesseract_nested_table, open, 16)
OFFSET(tesseract_nested_table, close, 24)
OFFSET(tesseract_nested_table, apply, 32)
OFFSET(tesseract_nested_table, jvp, 40)
OFFSET(tesseract_nested_table, vjp, 48)
OFFSET(tesseract_nested_table, jacobian, 56)
OFFSET(tesseract_nested_table, prepare, 64)
OFFSET(tesseract_nested_table, call_run, 72)
OFFSET(tesseract_nested_table, call_free, 80)
OFFSET(tesseract_nested_table, result_count, 88)
OFFSET(tesseract_nested_table, result_tensor, 96)
OFFSET(tesseract_nested_table, result_json, 104)
OFFSET(tesseract_nested_table, result_free, 112)
OFFSET(tesseract_nested_table, error_message, 120)
OFFSET(tesseract_nested_table, error_free, 128)

SIZE(tesseract_adopt_table, 16)
OFFSET(tesseract_adopt_table, size, 0)
OFFSET(tesseract_adopt_table, flags, 4)
OFFSET(tesseract_adopt_table, output, 8)

SIZE(tesseract_device_table, 64)
OFFSET(tesseract_device_table, size, 0)
OFFSET(tesseract_device_table, flags, 4)
OFFSET(tesseract_device_table, available, 8)
OFFSET(tesseract_device_table, locate, 16)
OFFSET(tesseract_device_table, synchronize, 24)
OFFSET(tesseract_device_table, order, 32)
OFFSET(tesseract_device_table, copy, 40)
OFFSET(tesseract_device_table, allocate, 48)
OFFSET(tesseract_device_table, run_current, 56)

SIZE(tesseract_reference_table, 24)
OFFSET(tesseract_reference_table, size, 0)
OFFSET(tesseract_reference_table, flags, 4)
OFFSET(tesseract_reference_table, hold, 8)
OFFSET(tesseract_reference_table, drop, 16)

SIZE(tesseract_unload_table, 16)
OFFSET(tesseract_unload_table, size, 0)
OFFSET(tesseract_unload_table, flags, 4)
OFFSET(tesseract_unload_table, unload, 8)

SIZE(tesseract_open_options, 48)
OFFSET(tesseract_open_options, size, 0)
OFFSET(tesseract_open_options, flags, 4)
OFFSET(tesseract_open_options, json, 8)
OFFSET(tesseract_open_options, log, 24)
OFFSET(tesseract_open_options, log_data, 32)
OFFSET(tesseract_open_options, log_free, 40)

SIZE(tesseract_statistics, 88)
OFFSET(tesseract_statistics, size, 0)
OFFSET(tesseract_statistics, flags, 4)
OFFSET(tesseract_statistics, calls, 8)
OFFSET(tesseract_statistics, prepared, 16)
OFFSET(tesseract_statistics, layout_copies, 24)
OFFSET(tesseract_statistics, layout_bytes, 32)
OFFSET(tesseract_statistics, dtype_copies, 40)
OFFSET(tesseract_statistics, dtype_bytes, 48)
OFFSET(tesseract_statistics, device_copies, 56)
OFFSET(tesseract_statistics, device_bytes, 64)
OFFSET(tesseract_statistics, owned_copies, 72)
OFFSET(tesseract_statistics, owned_bytes, 80)

SIZE(tesseract_source, 40)
OFFSET(tesseract_source, size, 0)
OFFSET(tesseract_source, flags, 4)
OFFSET(tesseract_source, text, 8)
OFFSET(tesseract_source, options, 24)

SIZE(tesseract_loader_table, 64)
OFFSET(tesseract_loader_table, size, 0)
OFFSET(tesseract_loader_table, flags, 4)
OFFSET(tesseract_loader_table, name, 8)
OFFSET(tesseract_loader_table, accepts, 16)
OFFSET(tesseract_loader_table, open, 24)
OFFSET(tesseract_loader_table, before_wait, 32)
OFFSET(tesseract_loader_table, after_wait, 40)
OFFSET(tesseract_loader_table, shutdown, 48)
OFFSET(tesseract_loader_table, unload, 56)

SIZE(tesseract_lost_thread_table, 16)
OFFSET(tesseract_lost_thread_table, size, 0)
OFFSET(tesseract_lost_thread_table, flags, 4)
OFFSET(tesseract_lost_thread_table, lose, 8)
SIZE(tesseract_fork_table, 16)
OFFSET(tesseract_fork_table, size, 0)
OFFSET(tesseract_fork_table, flags, 4)
OFFSET(tesseract_fork_table, resume, 8)

SIZE(tesseract_host_table, 88)
OFFSET(tesseract_host_table, size, 0)
OFFSET(tesseract_host_table, flags, 4)
OFFSET(tesseract_host_table, abi, 8)
OFFSET(tesseract_host_table, error_set, 16)
OFFSET(tesseract_host_table, error_detail, 24)
OFFSET(tesseract_host_table, cancelled, 32)
OFFSET(tesseract_host_table, allocate_output, 40)
OFFSET(tesseract_host_table, add_output, 48)
OFFSET(tesseract_host_table, output_json, 56)
OFFSET(tesseract_host_table, copied, 64)
OFFSET(tesseract_host_table, log, 72)
OFFSET(tesseract_host_table, extension, 80)

SIZE(tesseract_frame, 104)
OFFSET(tesseract_frame, size, 0)
OFFSET(tesseract_frame, flags, 4)
OFFSET(tesseract_frame, endpoint, 8)
OFFSET(tesseract_frame, reserved, 12)
OFFSET(tesseract_frame, host, 16)
OFFSET(tesseract_frame, log, 24)
OFFSET(tesseract_frame, signature, 32)
OFFSET(tesseract_frame, inputs, 40)
OFFSET(tesseract_frame, seeds, 48)
OFFSET(tesseract_frame, outputs, 56)
OFFSET(tesseract_frame, owners, 64)
OFFSET(tesseract_frame, n_inputs, 72)
OFFSET(tesseract_frame, n_seeds, 80)
OFFSET(tesseract_frame, n_outputs, 88)
OFFSET(tesseract_frame, stream, 96)

SIZE(tesseract_plugin_table, 104)
OFFSET(tesseract_plugin_table, size, 0)
OFFSET(tesseract_plugin_table, flags, 4)
OFFSET(tesseract_plugin_table, abi, 8)
OFFSET(tesseract_plugin_table, create, 16)
OFFSET(tesseract_plugin_table, destroy, 24)
OFFSET(tesseract_plugin_table, describe, 32)
OFFSET(tesseract_plugin_table, prepare, 40)
OFFSET(tesseract_plugin_table, forget, 48)
OFFSET(tesseract_plugin_table, apply, 56)
OFFSET(tesseract_plugin_table, jvp, 64)
OFFSET(tesseract_plugin_table, vjp, 72)
OFFSET(tesseract_plugin_table, jacobian, 80)
OFFSET(tesseract_plugin_table, abstract_eval, 88)
OFFSET(tesseract_plugin_table, extension, 96)

SIZE(tesseract_range, 8)
OFFSET(tesseract_range, min, 0)
OFFSET(tesseract_range, max, 4)

SIZE(tesseract_string, 16)
OFFSET(tesseract_string, data, 0)
OFFSET(tesseract_string, length, 8)

SIZE(tesseract_owner, 24)
OFFSET(tesseract_owner, object, 0)
OFFSET(tesseract_owner, retain, 8)
OFFSET(tesseract_owner, release, 16)

SIZE(tesseract_leaf, 32)
OFFSET(tesseract_leaf, path, 0)
OFFSET(tesseract_leaf, tensor, 16)
OFFSET(tesseract_leaf, owner, 24)

SIZE(tesseract_leaves, 40)
OFFSET(tesseract_leaves, size, 0)
OFFSET(tesseract_leaves, flags, 4)
OFFSET(tesseract_leaves, count, 8)
OFFSET(tesseract_leaves, items, 16)
OFFSET(tesseract_leaves, json, 24)

SIZE(tesseract_signature, 40)
OFFSET(tesseract_signature, size, 0)
OFFSET(tesseract_signature, flags, 4)
OFFSET(tesseract_signature, endpoint, 8)
OFFSET(tesseract_signature, reserved, 12)
OFFSET(tesseract_signature, inputs, 16)
OFFSET(tesseract_signature, of, 24)
OFFSET(tesseract_signature, wrt, 32)

SIZE(tesseract_call_options, 32)
OFFSET(tesseract_call_options, size, 0)
OFFSET(tesseract_call_options, flags, 4)
OFFSET(tesseract_call_options, stream, 8)
OFFSET(tesseract_call_options, cancel, 16)
OFFSET(tesseract_call_options, owners, 24)

/* clang-format on */

int main(void) {
  return 0;
}
