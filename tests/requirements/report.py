"""Print how many rows have which status, and every row whose status its tests do not bear out.

Run it from the root of the repository, with `make rows` or `python tests/requirements/report.py`.
"""

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.requirements.rows import IDS, STATUSES, disagreements, read_rows, read_tests


def main() -> int:
    """Print the table and the findings; the exit code says whether there were any."""
    rows = read_rows()
    counts = Counter((row.file, row.status) for row in rows)
    print(f"{'':16}" + "".join(f"{status:>13}" for status in STATUSES))
    for file in IDS:
        print(f"{file:16}" + "".join(f"{counts[file, status]:>13}" for status in STATUSES))
    print(f"{'all':16}" + "".join(f"{sum(counts[f, status] for f in IDS):>13}" for status in STATUSES))
    findings = disagreements(rows, read_tests())
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
