"""Lets other processes import the modules of opened components.

Pickles name a component's functions and classes by `tsr_plugins.p<serial>_<folder>.<module>`; this
package makes such names importable wherever tesseract_host is installed.
"""

from tesseract_host.loader.isolation import install

install()
