# SPDX-License-Identifier: BSD-3-Clause
"""The files of the project that the checks read."""
import os


def c_files(source):
    """Returns every C file of the project, as a path below `source`. Links are left out, because they are other names
    of a file."""
    for top in ("app", "drivers", "examples", "lib", "test"):
        for folder, _, names in os.walk(os.path.join(source, top)):
            for name in sorted(names):
                path = os.path.join(folder, name)
                if name.endswith((".c", ".h")) and not os.path.islink(path):
                    yield os.path.relpath(path, source)
