"""The command with the fake numerical side: `python fake_command.py run …`, for tests that need a process of
their own.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from mckean.cli import main, reporting
from mckean.runs.execution import execute
from tests.runs import fakes

reporting.write_report = fakes.report
execute.default_tools = fakes.tools_from_environment
main()
