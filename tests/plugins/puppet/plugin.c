/* A component that does what a test says: its entry is the function last given to puppet_set, so
 * that a misbehaviour stands beside what is expected of the host. */
#include <tesseract_host/plugin.h>

typedef int32_t (*puppet_entry)(const tesseract_host_table *host,
                                const tesseract_plugin_table **table);

TESSERACT_EXPORT void puppet_set(puppet_entry entry);

static puppet_entry current;

void puppet_set(puppet_entry entry) {
  current = entry;
}

int32_t tesseract_plugin_v1(const tesseract_host_table *host,
                            const tesseract_plugin_table **table) {
  return current(host, table);
}
