"""Agents and models compared by what they make of the same tasks (A26): tasks as data, trials, scores, their spread.

`tasks` reads what is asked, `scoring` judges one answer by rules, `answer_judge` has a model judge it, `summary` says
what the trials of each agent and model came to. Who is called, and how, is for whoever holds the agents.
"""

from retinue.orchestration.comparing_agents.answer_judge import AnswerVerdict, judge_answer
from retinue.orchestration.comparing_agents.scoring import Score, score
from retinue.orchestration.comparing_agents.summary import Contender, Spread, Trial, contenders
from retinue.orchestration.comparing_agents.tasks import CompareTask, TaskSet, read_tasks

__all__ = [
    "AnswerVerdict",
    "CompareTask",
    "Contender",
    "Score",
    "Spread",
    "TaskSet",
    "Trial",
    "contenders",
    "judge_answer",
    "read_tasks",
    "score",
]
