"""Which files stand beside the product: its tests, examples, benchmarks and what others wrote."""

import re
from typing import Final

_TEST_OR_VENDORED: Final = re.compile(
    r"(?:^|/)(?:tests?|__tests__|testing|specs?|examples?|bench|benchmarks?|fixtures|vendor|third_party)/"
    r"|(?:^|/)(?:test_[^/]*|[^/]*_test|conftest)\.\w+\Z"
    r"|\.(?:test|spec)\.[cm]?[jt]sx?\Z",
    re.IGNORECASE,
)


def is_test_or_vendored(path: str) -> bool:
    """Whether a file (or, with a `/` at its end, a folder) only tests, shows or measures the product."""
    return _TEST_OR_VENDORED.search(path) is not None
