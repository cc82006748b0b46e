"""The formats of log lines that are recognised, each as a pattern and the columns made of its groups. Data only.

The patterns are RE2 (DuckDB's), so that no line can make them slow.

| format | columns beside `line`, `at` and `snapshot_text` |
| --- | --- |
| `access` | `client`, `user`, `method`, `path`, `query`, `status`, `bytes`, `referer`, `agent`, and a time (below) |
| `syslog` | `host`, `program`, `pid`, `message` (RFC 3164 and RFC 5424) |
| `commits` | `commit`, `message` |
| `stamped`: a time first | `level`, `logger`, `message`, `continued` |
| `levelled`: a level first | `level`, `logger`, `message`, `continued` |
| JSON lines | `level`, `message`, and a column a key |
| `plain` | `level`, `message` |

The time at the end of an access log's lines is `seconds` when it is written with a point or named as nginx names it,
`duration_ms` when it says `ms`, and `duration` when nothing tells its unit. A column that no line has a value for is
not there (`user`, these times, the `level` of `plain`).
"""

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

Zone: TypeAlias = Literal["utc", "unnamed", "no year", "none"]
"""What is known of the time stamps: given in UTC, without a zone, without a year, or not there."""

_LEVELS: Final = (
    "TRACE|DEBUG|INFO|INFORMATION|NOTICE|WARN|WARNING|ERR|ERROR|SEVERE|CRIT|CRITICAL|ALERT|EMERG|FATAL|PANIC"
)
_LEVEL: Final = f"(?i:{_LEVELS})"
_QUOTED: Final = r'"((?:[^"\\]|\\.)*)"'
_STAMP: Final = r"(\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?) ?(Z|[+-]\d\d:?\d\d)?"
_DAY_OR_STAMP: Final = r"(\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?) ?(Z|[+-]\d\d:?\d\d)?"
_ZONED: Final = (
    "CASE WHEN f.stamp = '' THEN NULL"
    " WHEN f.zone = '' THEN TRY_CAST(replace(replace(f.stamp, ',', '.'), '/', '-') AS TIMESTAMP)"
    " ELSE CAST(TRY_CAST(replace(replace(f.stamp, ',', '.'), '/', '-')"
    " || regexp_replace(f.zone, '^([+-]\\d\\d)(\\d\\d)$', '\\1:\\2') AS TIMESTAMPTZ) AS TIMESTAMP) END"
)
# `app.db - INFO - text`, `INFO app.db: text`, `[main] INFO app.db - text`, `[error] 12#0: text`
_NAMED_FIRST: Final = rf"^[-|:]? ?([\w.$/-]+) (?:- |\| )?\[?({_LEVEL})\]?(?: ?[-|:])? +(.*)$"
_LEVEL_FIRST: Final = (
    rf"^[-|:]? ?(?:\[[^\]]*\] +)?[\[<]?({_LEVEL})[\]>]?(?::| [-|])?(?: +\[?([\w.$/#-]+)\]?(?::| -| \|))?(?: +|$)(.*)$"
)
_PARTS: Final = {
    "first": f"regexp_extract(f.rest, '{_LEVEL_FIRST}', ['level', 'logger', 'message'])",
    "second": f"regexp_extract(f.rest, '{_NAMED_FIRST}', ['logger', 'level', 'message'])",
}


@dataclass(frozen=True, slots=True)
class Format:
    """A form that the lines of a log can have.

    Attributes:
        name: What it is called in notes.
        pattern: What a line of it looks like.
        groups: The names of its groups; the first of them is never empty in a line that fits.
        inner: Structs made of `f`, the groups of a line, by the name under which `columns` see them.
        columns: The SQL of each column, over `f` and `inner`.
        optional: Those of them that are left out when no line has a value there.
        zone: What is known of the time stamps; a format that may name a zone has a group `zone` for it.
        entry: Whether an entry is one line, or goes on until the next line that fits.
        min_share: Which share of the lines must fit.
    """

    name: str
    pattern: str
    groups: tuple[str, ...]
    columns: dict[str, str]
    inner: dict[str, str] = field(default_factory=dict[str, str])
    optional: tuple[str, ...] = ()
    zone: Zone = "unnamed"
    entry: Literal["line", "block"] = "line"
    min_share: float = 0.5


_REQUEST: Final = r"^([A-Z]+) ([^ ?]*)(?:\?([^ ]*))?(?: HTTP/[0-9.]+)?$"
_TRAILING: Final = r'^(?: "[^"]*")*(?: -)* "?(?:(\d+\.\d+)s?|(\d+(?:\.\d+)?) ?ms|(\d+))"?(?: |$)'
_REQUEST_TIME: Final = r'\b(?:rt|request_time)="?(\d+(?:\.\d+)?)(?:"|s| |$)'

_ACCESS: Final = Format(
    name="access",
    pattern=(
        rf"^(?:[^ ]+:\d+ )?([^ ]+) ([^ ]+) ([^\[]+) \[([^\]]+)\] {_QUOTED} (\d{{3}}|-) (\d+|-)"
        rf"(?: {_QUOTED} {_QUOTED})?(.*)$"
    ),
    groups=("client", "ident", "user", "stamp", "request", "status", "bytes", "referer", "agent", "rest"),
    inner={
        "r": f"regexp_extract(f.request, '{_REQUEST}', ['method', 'path', 'query'])",
        "t": f"regexp_extract(f.rest, '{_TRAILING}', ['seconds', 'duration_ms', 'duration'])",
        "named": f"CASE WHEN contains(f.rest, '=') THEN regexp_extract(f.rest, '{_REQUEST_TIME}', ['seconds']) END",
    },
    columns={
        "client": "nullif(f.client, '')",
        "user": "nullif(nullif(f.user, '-'), '')",
        "at": "CAST(try_strptime(f.stamp, '%d/%b/%Y:%H:%M:%S %z') AS TIMESTAMP)",
        "method": "nullif(r.method, '')",
        "path": "nullif(r.path, '')",
        "query": "nullif(r.query, '')",
        "status": "TRY_CAST(f.status AS INTEGER)",
        "bytes": "TRY_CAST(f.bytes AS BIGINT)",
        "referer": "nullif(nullif(f.referer, '-'), '')",
        "agent": "nullif(nullif(f.agent, '-'), '')",
        "seconds": "TRY_CAST(coalesce(nullif(t.seconds, ''), nullif(named.seconds, '')) AS DOUBLE)",
        "duration_ms": "TRY_CAST(t.duration_ms AS DOUBLE)",
        "duration": "TRY_CAST(t.duration AS BIGINT)",
    },
    optional=("user", "seconds", "duration_ms", "duration"),
    zone="utc",
)

_SYSLOG: Final = Format(
    name="syslog",
    pattern=r"^(?:<\d+>)?([A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d) ([^ ]+) ([^ :\[]+)(?:\[(\d+)\])?: ?(.*)$",
    groups=("stamp", "host", "program", "pid", "message"),
    columns={
        "at": (
            "CASE WHEN try_strptime('{year} ' || f.stamp, '%Y %b %d %H:%M:%S')"
            " <= TIMESTAMP '{changed}' + INTERVAL 1 DAY THEN try_strptime('{year} ' || f.stamp, '%Y %b %d %H:%M:%S')"
            " ELSE try_strptime('{year_before} ' || f.stamp, '%Y %b %d %H:%M:%S') END"
        ),
        "host": "nullif(f.host, '')",
        "program": "nullif(f.program, '')",
        "pid": "TRY_CAST(f.pid AS BIGINT)",
        "message": "nullif(f.message, '')",
    },
    zone="no year",
)

_SYSLOG_NEW: Final = Format(
    name="syslog",
    pattern=rf"^<\d+>1 {_STAMP} ([^ ]+) ([^ ]+) ([^ ]+) [^ ]+ (?:-|(?:\[[^\]]*\])+) ?(.*)$",
    groups=("stamp", "zone", "host", "program", "pid", "message"),
    columns={
        "at": _ZONED,
        "host": "nullif(nullif(f.host, '-'), '')",
        "program": "nullif(nullif(f.program, '-'), '')",
        "pid": "TRY_CAST(f.pid AS BIGINT)",
        "message": "nullif(f.message, '')",
    },
)

_COMMITS: Final = Format(
    name="commits",
    pattern=rf"^{_DAY_OR_STAMP}[ \t|]+([0-9a-f]{{7,40}})(?:[ \t|]+(.*))?$",
    groups=("stamp", "zone", "commit", "message"),
    columns={"at": _ZONED, "commit": "nullif(f.commit, '')", "message": "nullif(f.message, '')"},
)

_COMMITS_FIRST: Final = Format(
    name="commits",
    pattern=rf"^([0-9a-f]{{7,40}})[ \t|]+{_DAY_OR_STAMP}(?:[ \t|]+(.*))?$",
    groups=("commit", "stamp", "zone", "message"),
    columns=_COMMITS.columns,
)

_STAMPED: Final = Format(
    name="stamped",
    pattern=rf"^\[?{_STAMP}\]?(?:[ \t]+(.*)|)$",
    groups=("stamp", "zone", "rest"),
    inner=_PARTS,
    columns={
        "at": _ZONED,
        "level": "upper(coalesce(nullif(first.level, ''), nullif(second.level, '')))",
        "logger": "coalesce(nullif(first.logger, ''), nullif(second.logger, ''))",
        "message": (
            "CASE WHEN first.level <> '' THEN first.message WHEN second.level <> '' THEN second.message"
            " ELSE nullif(f.rest, '') END"
        ),
    },
    entry="block",
    min_share=0.05,
)

_LEVELLED: Final = Format(
    name="levelled",
    pattern=rf"^\[?({_LEVEL})\]?(?::([\w.$/-]+):[ ]?| *[:|] +| +-? ?)(.*)$",
    groups=("level", "logger", "message"),
    columns={
        "at": "CAST(NULL AS TIMESTAMP)",
        "level": "upper(nullif(f.level, ''))",
        "logger": "nullif(f.logger, '')",
        "message": "nullif(f.message, '')",
    },
    zone="none",
    entry="block",
    min_share=0.2,
)

PLAIN_TEXT: Final = Format(
    name="plain",
    pattern="^(.+)$",
    groups=("message",),
    columns={
        "at": "CAST(NULL AS TIMESTAMP)",
        "level": rf"upper(nullif(regexp_extract(left(f.message, 100), '\b({_LEVELS})\b', 1), ''))",
        "message": "nullif(f.message, '')",
    },
    optional=("level",),
    zone="none",
)
"""A log of which nothing else is known: its words are all that is promised."""

FORMATS: Final = (_ACCESS, _SYSLOG_NEW, _SYSLOG, _COMMITS, _COMMITS_FIRST, _STAMPED, _LEVELLED)
"""What is tried; of several that fit equally many lines the first."""
