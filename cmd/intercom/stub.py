#!/usr/bin/env python3
# Written by intercom compat install.
import os
import shutil
import sys

program = @program@
if not os.access(program, os.X_OK):
    program = shutil.which("intercom") or sys.exit("intercom is not installed")
os.execv(program, [program, @words@, *sys.argv[1:]])
