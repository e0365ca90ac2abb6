#!/usr/bin/env python3
"""Set Croupier up in an environment of its own and run it: `python3 run.py --help`.

Python 3.11 or newer and pip are all that it needs. The work is done by tools/bootstrap; this
file only refuses an older Python by name, so it is written for any.
"""

import os
import sys

if sys.version_info < (3, 11):
    sys.stderr.write(
        "run.py: Croupier needs Python 3.11 or newer, and this is Python %d.%d (%s)\n"
        % (sys.version_info[0], sys.version_info[1], sys.executable)
    )
    sys.exit(2)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "tools"))

import bootstrap

sys.exit(bootstrap.main(sys.argv[1:]))
