"""Workouts of one person: what was trained, when, and how much."""

from datetime import date, timedelta
from typing import Literal

from retinue.catalogue.personal_assistant.domains import query

NAME = "WORKOUTS"
SYSTEM_PROMPT = """You keep the training log of one person: exercises with sets and repetitions, or minutes, by day.

Log what was trained, and answer from the log. Give no medical advice."""

_DAYS = {"today": 0, "week": 6, "month": 29, "year": 364}


def WORKOUTS_ACTION_log(  # noqa: N802 - the naming of spec 001
    exercise: str,
    sets: int | None = None,
    repetitions: int | None = None,
    minutes: int | None = None,
    day: date | None = None,
) -> str:
    """Log an exercise that was trained: a workout, a run, sets and repetitions.

    I did 3 sets of 12 repetitions of squats
    Example response: Logged squats: 3 sets of 12.
    Example args: {"exercise": "squats", "sets": 3, "repetitions": 12}
    Notes: Log a workout, log a run, log minutes, track minutes, record a workout, I trained, I did sets, I did minutes,
    sets of reps.

    Args:
        exercise: What was trained.
        sets: How many sets.
        repetitions: Repetitions in a set, also called reps.
        minutes: Minutes that it took.
        day: The day on which it was; today when absent.
    """
    when = (day or date.today()).isoformat()  # noqa: DTZ011 - the person's own day is meant
    sql = "INSERT INTO workouts (exercise, sets, repetitions, minutes, day) VALUES (?, ?, ?, ?, ?)"
    query(sql, exercise, sets, repetitions, minutes, when)
    return f"Logged {_format_exercise(exercise, sets, repetitions, minutes)} on {when}."


def WORKOUTS_GET_history(period: Literal["today", "week", "month", "year"] = "week") -> str:  # noqa: N802
    """Show what was trained lately.

    What did I train this week?
    Example response: 2026-05-04: squats, 3 sets of 12.
    Example args: {"period": "week"}
    Notes: Show workouts, exercises, history, was trained, did I train, what did I do, in the last week or month.

    Args:
        period: How far back: today, a week, a month or a year.
    """
    first = (date.today() - timedelta(days=_DAYS[period])).isoformat()  # noqa: DTZ011
    sql = "SELECT day, exercise, sets, repetitions, minutes FROM workouts WHERE day >= ? ORDER BY day, id"
    lines = [f"{day}: {_format_exercise(*what)}." for day, *what in query(sql, first)]
    return "\n".join(lines) or "Nothing was trained in that time."


def WORKOUTS_GET_best(exercise: str) -> str:  # noqa: N802
    """Tell the best that was done in one exercise: a record.

    What is my record in squats?
    Example response: squats, 3 sets of 12, on 2026-05-04.
    Example args: {"exercise": "squats"}
    Notes: Personal best, the most I ever did, the longest I ever did, my record in, what is my record.

    Args:
        exercise: Which exercise.
    """
    sql = """SELECT exercise, sets, repetitions, minutes, day FROM workouts WHERE instr(lower(exercise), lower(?))
        ORDER BY coalesce(sets, 1) * coalesce(repetitions, 0) DESC, minutes DESC, day LIMIT 1"""
    rows = query(sql, exercise)
    return f"{_format_exercise(*rows[0][:4])}, on {rows[0][4]}." if rows else f"No {exercise} in the log."


def _format_exercise(exercise: str, sets: int | None, repetitions: int | None, minutes: int | None) -> str:
    amount = f"{sets} sets of {repetitions}" if sets and repetitions else ""
    amount = amount or (f"{sets} sets" if sets else f"{repetitions} repetitions" if repetitions else "")
    return ", ".join(filter(None, (exercise, amount, f"{minutes} minutes" if minutes else "")))


TOOLS = [WORKOUTS_ACTION_log, WORKOUTS_GET_history, WORKOUTS_GET_best]
