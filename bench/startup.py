"""CPU seconds that the command line and the package take to start, side by side with an empty Python process.

python bench/startup.py [--repeats 5]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "import counterplan": ["-c", "import counterplan"],
    "counterplan --version": ["-m", "counterplan", "--version"],
    "counterplan --help": ["-m", "counterplan", "--help"],
    "from counterplan import Recourse": ["-c", "from counterplan import Recourse"],
    "counterplan recommend --help": ["-m", "counterplan", "recommend", "--help"],
}


def cpu_seconds(arguments: list[str]) -> float:
    before = os.times()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    for name, arguments in COMMANDS.items():
        print(f"{name:35} {min(cpu_seconds(arguments) for _ in range(repeats)):.2f} s")


if __name__ == "__main__":
    main()
