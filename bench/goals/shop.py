"""The repository `shop`: a small web service with two years of history, an access log, a worker's log and its orders.

Made up, and made to be asked about: the slowest endpoints, the one that breaks its promise, the hour of errors and who
wrote what are written here on purpose.
"""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final

from bench.goals.repository import Commit, Fixture, at, plant, texts

__all__ = ["plant_shop"]

_PEOPLE: Final = {"Mara": "Mara Lindqvist", "Tomas": "Tomas Okoye", "Priya": "Priya Nair", "Jonas": "Jonas Weber"}

_REFUNDS: Final = "feature/refunds"
_TIMEOUT: Final = "fix/session-timeout"
_GIFTS: Final = "feature/gift-cards"
_HISTORY: Final = (
    Commit(
        "2024-02-05",
        "Mara",
        "feat: start the shop",
        ".gitignore LICENSE pyproject.toml README.md@50 src/shop/app.py@40 src/shop/config.py@40",
    ),
    Commit("2024-02-12", "Tomas", "feat(models): customers and products", "src/shop/__init__.py src/shop/models.py@60"),
    Commit(
        "2024-02-19",
        "Mara",
        "feat(cart): put products into a cart",
        "src/shop/cart.py@50 tests/test_cart.py@40 tests/conftest.py@30",
    ),
    Commit("2024-03-04", "Priya", "feat(checkout): turn a cart into an order", "src/shop/checkout.py@50"),
    Commit(
        "2024-03-11", "Tomas", "feat(search): find products by name", "src/shop/search.py@50 tests/test_search.py@50"
    ),
    Commit("2024-03-25", "Mara", "docs(api): describe the endpoints", "docs/api.md@50"),
    Commit(
        "2024-04-08",
        "Priya",
        "feat(payments): charge cards through the gateway",
        "src/shop/payments.py@40 docs/payments.md@40",
    ),
    Commit(
        "2024-04-22",
        "Jonas",
        "test(checkout): replace the gateway by a mock",
        "tests/test_checkout.py@60 tests/conftest.py@60",
    ),
    Commit(
        "2024-05-06",
        "Tomas",
        "feat(sessions): sign in and stay signed in",
        "src/shop/sessions.py@60 tests/test_sessions.py@50 src/shop/clock.py",
    ),
    Commit("2024-05-20", "Mara", "docs(configuration): the environment variables", "docs/configuration.md@60"),
    Commit("2024-06-03", "Jonas", "feat(emails): confirm orders by mail", "src/shop/emails.py@70"),
    Commit("2024-06-14", "Mara", "chore(release): 1.0.0", "CHANGELOG.md@30", tag="v1.0.0"),
    Commit("2024-07-08", "Priya", "fix(payments): never charge twice after a timeout", "src/shop/payments.py@60"),
    Commit("2024-08-12", "Tomas", "perf(search): keep an index of product names", "src/shop/search.py@80"),
    Commit("2024-09-02", "Mara", "refactor(cart): totals in cents", "src/shop/cart.py@80 src/shop/money.py@40"),
    Commit("2024-09-30", "Jonas", "test(cart): parametrize the discounts", "tests/test_cart.py@80"),
    Commit("2024-10-14", "Priya", "docs(payments): how refunds work", "docs/payments.md@80"),
    Commit("2024-11-04", "Tomas", "feat(reports): one report a month", "src/shop/reports.py@60 src/shop/money.py"),
    Commit("2024-11-22", "Mara", "chore(release): 1.1.0", "CHANGELOG.md@50", tag="v1.1.0"),
    Commit("2025-01-13", "Jonas", "fix(emails): try four times", "src/shop/emails.py"),
    Commit(
        "2025-02-10",
        "Priya",
        "feat(payments): refunds within fourteen days",
        "src/shop/payments.py@80",
        _REFUNDS,
        begins="main",
    ),
    Commit("2025-02-17", "Priya", "test(payments): refunds", "tests/test_payments.py", _REFUNDS),
    Commit(
        "2025-02-24",
        "Mara",
        f"Merge branch '{_REFUNDS}'",
        "src/shop/payments.py@80 tests/test_payments.py",
        merges=_REFUNDS,
    ),
    Commit("2025-03-17", "Tomas", "fix(search): ignore accents", "src/shop/search.py tests/test_search.py"),
    Commit("2025-04-07", "Mara", "docs(api): promise latencies for each endpoint", "docs/api.md@90"),
    Commit(
        "2025-05-05",
        "Jonas",
        "test(checkout): describe it in Gherkin",
        "features/checkout.feature tests/steps/test_checkout_steps.py",
    ),
    Commit("2025-05-16", "Mara", "chore(release): 1.2.0", "CHANGELOG.md@70", tag="v1.2.0"),
    Commit("2025-06-23", "Priya", "fix(checkout): keep the cart when the payment fails", "src/shop/checkout.py@80"),
    Commit(
        "2025-07-14",
        "Tomas",
        "feat(config): read all variables in one place",
        "src/shop/config.py docs/configuration.md@90",
    ),
    Commit("2025-08-11", "Jonas", "docs(testing): what never to do in tests", "docs/testing.md"),
    Commit("2025-09-08", "Mara", "refactor(app): one table of endpoints", "src/shop/app.py src/shop/models.py"),
    Commit(
        "2025-10-06",
        "Tomas",
        "fix(sessions): sign out after thirty minutes",
        "src/shop/sessions.py",
        _TIMEOUT,
        begins="main",
    ),
    Commit(
        "2025-10-13",
        "Tomas",
        "test(sessions): hold the clock still",
        "tests/test_sessions.py tests/conftest.py@90",
        _TIMEOUT,
    ),
    Commit(
        "2025-10-20",
        "Mara",
        f"Merge branch '{_TIMEOUT}'",
        "src/shop/sessions.py tests/test_sessions.py tests/conftest.py@90",
        merges=_TIMEOUT,
    ),
    Commit(
        "2025-11-10",
        "Priya",
        "feat(checkout): at most fifty items in a cart",
        "src/shop/checkout.py src/shop/cart.py tests/test_cart.py tests/test_checkout.py",
    ),
    Commit(
        "2025-12-01",
        "Jonas",
        "test(api): a client that is signed in",
        "tests/api/conftest.py tests/api/test_endpoints.py tests/conftest.py",
    ),
    Commit(
        "2026-01-12",
        "Priya",
        "feat(payments)!: an idempotency key for every charge",
        "src/shop/payments.py docs/payments.md",
    ),
    Commit("2026-01-30", "Mara", "chore(release): 2.0.0", "CHANGELOG.md", tag="v2.0.0"),
    Commit("2026-02-09", "Tomas", "docs(deployment): two servers, and never on a Friday", "docs/deployment.md"),
    Commit(
        "2026-02-11",
        "Priya",
        "feat(gift-cards): sell gift cards",
        "src/shop/gift_cards.py@60",
        _GIFTS,
        begins="main",
    ),
    Commit(
        "2026-02-16",
        "Jonas",
        "chore(data): orders, products and returns of two years",
        "data/orders.csv data/products.csv data/2024/returns.csv data/2025/returns.csv",
    ),
    Commit("2026-02-18", "Priya", "docs(gift-cards): how they are redeemed", "docs/gift-cards.md", _GIFTS),
    Commit("2026-02-23", "Mara", "fix(reports): list months without orders", "src/shop/reports.py"),
    Commit("2026-03-03", "Tomas", "fix(gift-cards): refuse expired cards", "src/shop/gift_cards.py", _GIFTS),
    Commit("2026-03-05", "Tomas", "chore(logs): keep three days", "logs/access.log logs/worker.log"),
    Commit(
        "2026-03-09", "Jonas", "docs: finish the README and the API page", "README.md docs/api.md docs/configuration.md"
    ),
)

_ENDPOINTS: Final = (
    # method, path, typical seconds, requests among 100
    ("GET", "/products", 0.082, 34),
    ("GET", "/search", 0.455, 18),
    ("GET", "/health", 0.004, 12),
    ("POST", "/cart", 0.114, 11),
    ("GET", "/orders", 0.163, 8),
    ("POST", "/login", 0.212, 6),
    ("POST", "/checkout", 0.786, 6),
    ("POST", "/payments/refund", 0.611, 2),
    ("GET", "/reports/monthly", 1.642, 3),
)
_LINES: Final = 2_000
_DAY_S: Final = 86_400


def plant_shop(root: Path) -> Fixture:
    """Make the shop in the empty folder `root`; one file is changed and one is new, neither committed."""
    contents = texts("shop.txt") | {
        "data/orders.csv": "".join(_orders()),
        "data/products.csv": "".join(_products()),
        "data/2024/returns.csv": "".join(_returns("2024", 60)),
        "data/2025/returns.csv": "".join(_returns("2025", 75)),
        "logs/access.log": "".join(_access()),
        "logs/worker.log": "".join(_worker()),
    }
    fixture = plant(root, name="shop", contents=contents, history=_HISTORY, people=_PEOPLE)
    emails = root / "src" / "shop" / "emails.py"
    emails.write_text(emails.read_text(encoding="utf-8").replace("ATTEMPTS = 4", "ATTEMPTS = 5"), encoding="utf-8")
    (root / "notes.txt").write_text("Ask the gateway's people about test cards.\n", encoding="utf-8")
    return fixture


def _access() -> Iterator[str]:
    """Three days in the combined format with the seconds of each request at the end; one hour of errors."""
    chance = Random("shop/access")
    weighted = [endpoint for endpoint in _ENDPOINTS for _ in range(endpoint[3])]
    for number in range(_LINES):
        method, path, typical, _ = weighted[int(chance.random() * len(weighted))]
        second = number * 3 * _DAY_S // _LINES + int(chance.random() * 90)
        when = at("2026-03-02", second)
        storm = (when.day, when.hour) == (3, 14)
        if storm and chance.random() < 0.8:
            method, path, typical = "POST", "/checkout", 0.786
        taken = typical * (0.7 + 0.6 * chance.random()) * (1.6 if chance.random() < 0.05 else 1.0)
        client = "203.0.113.9" if chance.random() < 0.08 else f"192.0.2.{1 + int(chance.random() * 40)}"
        status, size = 200, 200 + int(chance.random() * 9_000)
        if path == "/checkout" and storm:
            status, size = 503, 61
        elif path == "/products" and chance.random() < 0.04:
            status, size = 404, 48
        elif path == "/login" and chance.random() < 0.15:
            status, size = 401, 57
        elif path == "/search" and chance.random() < 0.01:
            status, size = 500, 112
        stamp = when.strftime("%d/%b/%Y:%H:%M:%S +0000")
        yield f'{client} - - [{stamp}] "{method} {path} HTTP/1.1" {status} {size} "-" "Mozilla/5.0" {taken:.3f}\n'


def _worker() -> Iterator[str]:
    """What the worker says: mails, reports and a gateway that does not answer for a while."""
    chance = Random("shop/worker")
    quiet = (
        ("DEBUG", "shop.reports", "nothing to do"),
        ("INFO", "shop.emails", "confirmation sent"),
        ("INFO", "shop.reports", "report written"),
        ("INFO", "shop.emails", "confirmation sent"),
        ("WARNING", "shop.emails", "mailbox is slow"),
    )
    for number in range(240):
        when = at("2026-03-02", number * 1_080 + int(chance.random() * 900))
        level, logger, message = quiet[int(chance.random() * len(quiet))]
        if (when.day, when.hour) == (3, 14) or chance.random() < 0.02:
            level, logger, message = "ERROR", "shop.payments", "gateway timed out after 5 s"
        yield f"{when:%Y-%m-%dT%H:%M:%SZ} {level} {logger} {message}\n"
        if level == "ERROR" and number % 3 == 0:
            yield 'Traceback (most recent call last):\n  File "payments.py", line 40, in charge\nTimeoutError\n'


def _orders() -> Iterator[str]:
    """A thousand orders of 2025; hardly any has a coupon."""
    chance = Random("shop/orders")
    yield "order_id,ordered_at,customer,country,category,quantity,unit_price,total,status,payment,coupon\n"
    countries = ("DE",) * 9 + ("FR",) * 5 + ("ES",) * 3 + ("PL",) * 2 + ("US",)
    categories = (("tea", 690), ("coffee", 1_150), ("cups", 1_490), ("books", 2_250), ("gifts", 3_900))
    states = ("shipped",) * 14 + ("paid",) * 3 + ("returned",) * 2 + ("cancelled",)
    ways = ("card",) * 6 + ("invoice",) * 3 + ("paypal",)
    for number in range(1, 1_001):
        when = at("2025-01-01", (number - 1) * 365 * _DAY_S // 1_000 + int(chance.random() * 20_000))
        category, base = categories[int(chance.random() * len(categories))]
        cents, quantity = base + int(chance.random() * 40) * 10, 1 + int(chance.random() * 6)
        fields = (
            f"ORD-{number:05d}",
            f"{when:%Y-%m-%d %H:%M:%S}",
            f"C{1 + int(chance.random() * 120):03d}",
            countries[int(chance.random() * len(countries))],
            category,
            str(quantity),
            f"{cents / 100:.2f}",
            f"{cents * quantity / 100:.2f}",
            states[int(chance.random() * len(states))],
            ways[int(chance.random() * len(ways))],
            "SPRING" if chance.random() < 0.04 else "",
        )
        yield ",".join(fields) + "\n"


def _products() -> Iterator[str]:
    chance = Random("shop/products")
    yield "product_id,name,category,unit_price,stock\n"
    for number in range(1, 41):
        category = ("tea", "coffee", "cups", "books", "gifts")[number % 5]
        price, stock = 4 + int(chance.random() * 400) / 10, int(chance.random() * 90)
        yield f"P{number:03d},{category} no. {number},{category},{price:.2f},{stock}\n"


def _returns(year: str, count: int) -> Iterator[str]:
    chance = Random(f"shop/returns/{year}")
    yield "return_id,order_id,returned_on,reason,amount\n"
    reasons = ("broken", "too late", "not as described", "changed mind", "changed mind")
    for number in range(1, count + 1):
        day = at(f"{year}-01-01", int(chance.random() * 365) * _DAY_S)
        reason, amount = reasons[int(chance.random() * len(reasons))], 5 + int(chance.random() * 900) / 10
        order = 1 + int(chance.random() * 1_000)
        yield f"R{year}-{number:03d},ORD-{order:05d},{day:%Y-%m-%d},{reason},{amount:.2f}\n"
