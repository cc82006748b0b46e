"""The repository `weather`: a Python library with tags, documents in several folders, stations and their readings."""

import json
from collections.abc import Iterator
from contextlib import suppress
from math import cos, pi
from pathlib import Path
from random import Random
from typing import Final

from bench.goals.repository import Commit, Fixture, at, plant, texts

__all__ = ["plant_weather"]

_PEOPLE: Final = {"Ines": "Ines Castro", "Ravi": "Ravi Menon", "Sofie": "Sofie Dahl", "Jonas": "Jonas Brandt"}

_FORECAST: Final = "feature/forecast"
_KNOTS: Final = "feature/knots"
_HISTORY: Final = (
    Commit("2024-03-04", "Ines", "Start the library", ".gitignore pyproject.toml README.md@50 src/weather/__init__.py"),
    Commit("2024-03-18", "Ines", "Read stations", "src/weather/stations.py@50 tests/unit/test_stations.py@60"),
    Commit("2024-04-08", "Ravi", "Read readings", "src/weather/readings.py@60 tests/test_readings.py@50"),
    Commit("2024-04-12", "Ines", "Release 0.1.0", "CHANGES.md@25", tag="v0.1.0"),
    Commit(
        "2024-05-27", "Sofie", "Describe the file formats", "docs/reference/stations.md@60 docs/reference/readings.md"
    ),
    Commit("2024-07-15", "Ravi", "Read line by line", "src/weather/readings.py@80"),
    Commit("2024-08-23", "Ines", "Release 0.2.0", "CHANGES.md@40", tag="v0.2.0"),
    Commit("2024-10-21", "Sofie", "Write the quickstart", "docs/index.md@60 docs/guide/quickstart.md@70"),
    Commit("2024-11-18", "Ines", "Give stations an elevation", "src/weather/stations.py@80 docs/reference/stations.md"),
    Commit("2024-12-06", "Ines", "Release 0.3.0", "CHANGES.md@55", tag="v0.3.0"),
    Commit(
        "2025-01-20", "Ravi", "Keep readings without a temperature", "src/weather/readings.py tests/test_readings.py"
    ),
    Commit("2025-02-17", "Sofie", "Explain missing values", "docs/how-to/missing-values.md"),
    Commit("2025-03-10", "Jonas", "Add the command line", "src/weather/cli.py tests/unit/test_cli.py"),
    Commit("2025-03-28", "Ines", "Release 1.0.0", "CHANGES.md@70 README.md", tag="v1.0.0"),
    Commit("2025-05-19", "Ravi", "Convert units", "src/weather/units.py@60 tests/unit/test_units.py@70"),
    Commit("2025-08-25", "Jonas", "Add knots", "src/weather/units.py@80", _KNOTS, begins="main"),
    Commit("2025-09-01", "Jonas", "Test knots", "tests/unit/test_units.py docs/guide/units.md", _KNOTS),
    Commit(
        "2025-09-15",
        "Ines",
        f"Merge branch '{_KNOTS}'",
        "src/weather/units.py@80 tests/unit/test_units.py docs/guide/units.md",
        merges=_KNOTS,
    ),
    Commit("2025-09-19", "Ines", "Release 1.1.0", "CHANGES.md@85", tag="v1.1.0"),
    Commit("2025-11-03", "Sofie", "Compute the wind chill", "src/weather/units.py"),
    Commit("2025-12-08", "Ravi", "Share fixtures between tests", "tests/conftest.py tests/unit/test_stations.py"),
    Commit(
        "2026-01-19",
        "Sofie",
        "Find heat waves",
        "src/weather/heat.py tests/test_heat.py docs/how-to/heat-waves.md",
    ),
    Commit("2026-02-02", "Jonas", "Compute distances between stations", "src/weather/stations.py"),
    Commit("2026-02-13", "Ines", "Release 1.2.0", "CHANGES.md", tag="v1.2.0"),
    Commit("2026-02-20", "Ravi", "Guess by persistence", "src/weather/forecast.py@50", _FORECAST, begins="main"),
    Commit("2026-02-27", "Ravi", "Guess by trend", "src/weather/forecast.py", _FORECAST),
    Commit("2026-03-02", "Sofie", "Add real stations and readings", "data/stations.csv data/readings.jsonl"),
    Commit("2026-03-06", "Jonas", "Keep the log of the import", "logs/import.log"),
    Commit("2026-03-08", "Sofie", "Finish the pages", "docs/index.md docs/guide/quickstart.md docs/reference/index.md"),
)

_PLACES: Final = (
    ("0003", "Skagen", "DK", 57.7, 10.6, 3),
    ("0012", "Bergen", "NO", 60.4, 5.3, 12),
    ("0041", "Finse", "NO", 60.6, 7.5, 1222),
    ("0105", "Zermatt", "CH", 46.0, 7.7, 1608),
    ("0118", "Basel", "CH", 47.6, 7.6, 260),
    ("0200", "Faro", "PT", 37.0, -7.9, 8),
    ("0207", "Evora", "PT", 38.6, -7.9, 309),
    ("0311", "Sevilla", "ES", 37.4, -6.0, 7),
    ("0312", "Burgos", "ES", 42.3, -3.7, 859),
    ("0400", "Tromso", "NO", 69.6, 18.9, 10),
    ("0415", "Odense", "DK", 55.4, 10.4, 13),
    ("0500", "Brest", "FR", 48.4, -4.5, 52),
)


def plant_weather(root: Path) -> Fixture:
    """Make the library in the empty folder `root`; with DuckDB also `data/daily.parquet`, which git ignores."""
    contents = texts("weather.txt") | {
        "data/stations.csv": "".join(_stations()),
        "data/readings.jsonl": "".join(_readings()),
        "logs/import.log": "".join(_imported()),
    }
    fixture = plant(root, name="weather", contents=contents, history=_HISTORY, people=_PEOPLE)
    with suppress(ImportError):
        _write_daily(root / "data")
    return fixture


def _stations() -> Iterator[str]:
    yield "station_id,name,country,latitude,longitude,elevation_m,opened\n"
    for number, (station, name, country, north, east, height) in enumerate(_PLACES):
        yield f"{station},{name},{country},{north},{east},{height},{1961 + number * 4}-01-01\n"


def _readings() -> Iterator[str]:
    """A reading every four days at noon and at midnight, for every station: the year 2025; some sensors fail."""
    chance = Random("weather/readings")
    for day in range(0, 365, 4):
        for hour in (0, 12):
            when = at("2025-01-01", day * 86_400 + hour * 3_600)
            for station, _, _, north, _, height in _PLACES:
                season = -cos(2 * pi * (day - 15) / 365) * 9
                warm = 29 - north * 0.38 - height * 0.0062 + season + (3.5 if hour else -3.5) + chance.random() * 5
                missing = chance.random() < (0.2 if station == "0041" else 0.02)
                rain = round(chance.random() * 9, 1) if chance.random() < (0.5 if station == "0012" else 0.2) else 0.0
                reading = {
                    "station_id": station,
                    "at": f"{when:%Y-%m-%dT%H:%M:%SZ}",
                    "temperature_c": None if missing else round(warm, 1),
                    "wind_ms": round(1 + chance.random() * (17 if height > 1000 else 9), 1),
                    "rain_mm": rain,
                }
                yield json.dumps(reading) + "\n"


def _imported() -> Iterator[str]:
    chance = Random("weather/import")
    for number in range(180):
        when = at("2026-03-06", number * 40 + int(chance.random() * 30))
        station = _PLACES[int(chance.random() * len(_PLACES))][0]
        level, message = "INFO", f"station {station} imported"
        if chance.random() < 0.12:
            level, message = "WARNING", f"station {station} has gaps"
        if chance.random() < 0.04:
            level, message = "ERROR", f"station {station} is silent"
        yield f"{when:%Y-%m-%d %H:%M:%S},000 {level} weather.importer: {message}\n"


def _write_daily(folder: Path) -> None:
    """The highest temperature of each day and station, as Parquet: its bytes are DuckDB's, so it is not in git."""
    import duckdb  # noqa: PLC0415 - optional

    with duckdb.connect() as connection:
        source, written = folder / "readings.jsonl", folder / "daily.parquet"
        types = "{station_id: 'VARCHAR', \"at\": 'TIMESTAMP', temperature_c: 'DOUBLE', rain_mm: 'DOUBLE'}"
        days = (
            'SELECT station_id, CAST("at" AS DATE) AS day, max(temperature_c) AS high_c, sum(rain_mm) AS rain_mm '
            f"FROM read_json('{source}', columns={types}) GROUP BY ALL ORDER BY ALL"
        )
        connection.execute(f"COPY ({days}) TO '{written}' (FORMAT parquet)")
