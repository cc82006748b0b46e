"""Tasks of one person: what is to be done, and by when."""

from datetime import date

from retinue.catalogue.personal_assistant.domains import query

NAME = "TASKS"
SYSTEM_PROMPT = """You keep the list of tasks of one person: what is to be done, and by when.

Add a task when something is to be done, finish it when it is done, move it when its day changes. Name tasks by their
number when you change them; look them up first when you do not know it."""


def TASKS_ACTION_add(title: str, due: date | None = None) -> str:  # noqa: N802 - the naming of spec 001
    """Add a new task to the list, a reminder or something to do.

    Remind me to call Ada tomorrow
    Example response: Added task 4: call Ada, due 2026-05-05.
    Example args: {"title": "call Ada", "due": "2026-05-05"}
    Notes: Put on my list, put on my todo list, add to my list, add a task, remind me, remember to,
    do not let me forget, don't let me forget, I must, I need to, I have to.

    Args:
        title: What is to be done, in a few words.
        due: The day by which it is to be done.
    """
    ((number,),) = query("INSERT INTO tasks (title, due) VALUES (?, ?) RETURNING id", title, due and due.isoformat())
    return f"Added task {number}: {title}{f', due {due}' if due else ''}."


def TASKS_GET_open(due: date | None = None) -> str:  # noqa: N802
    """List the tasks that are still open.

    What do I have to do today?
    Example response: Task 4: call Ada, due 2026-05-05.
    Example args: {"due": "2026-05-05"}
    Notes: Show my to do list, my todo list, what have I got to do, what is left on my list, open tasks, due, overdue.

    Args:
        due: Only those due on or before this day.
    """
    sql = """SELECT id, title, due FROM tasks WHERE NOT done AND (?1 IS NULL OR due <= ?1)
        ORDER BY due IS NULL, due, id"""
    rows = query(sql, due and due.isoformat())
    lines = [f"Task {number}: {title}{f', due {day}' if day else ''}." for number, title, day in rows]
    return "\n".join(lines) or "No task is open."


def TASKS_UPDATE_done(number: int) -> str:  # noqa: N802
    """Mark a task as done, by its number.

    Task 4 is finished
    Example response: Task 4 is done: call Ada.
    Example args: {"number": 4}
    Notes: Complete, finish, mark as done, tick off, check off, done with.

    Args:
        number: The number of the task.
    """
    rows = query("UPDATE tasks SET done = 1 WHERE id = ? RETURNING title", number)
    return f"Task {number} is done: {rows[0][0]}." if rows else f"There is no task {number}."


def TASKS_UPDATE_move(number: int, due: date) -> str:  # noqa: N802
    """Move a task to another day.

    Move task 4 to Friday
    Example response: Task 4 is due 2026-05-08.
    Example args: {"number": 4, "due": "2026-05-08"}
    Notes: Postpone, reschedule, delay, put off.

    Args:
        number: The number of the task.
        due: The new day.
    """
    rows = query("UPDATE tasks SET due = ? WHERE id = ? RETURNING title", due.isoformat(), number)
    return f"Task {number} ({rows[0][0]}) is due {due}." if rows else f"There is no task {number}."


TOOLS = [TASKS_ACTION_add, TASKS_GET_open, TASKS_UPDATE_done, TASKS_UPDATE_move]
