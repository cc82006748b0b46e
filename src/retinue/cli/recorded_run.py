"""A run of the history as commands show it: its steps as a tree, its faults, and what to do about them (A14, H30)."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Self

import click

from retinue.cli import user_paths
from retinue.cli.output import echo, echo_err, echo_json, json_line, label, plural, present, safe, table
from retinue.cli.runs import find_run, plan_of
from retinue.cli.screen import NODE_WORDS
from retinue.cli.session import Invocation, invocation_in
from retinue.contract.event import Decision, Event
from retinue.contract.plan import Plan
from retinue.contract.result import Result
from retinue.engine.base import RunFilter, RunRecord
from retinue.engine.ids import CHILD
from retinue.engine.journal import Journal
from retinue.errors import UnknownName
from retinue.orchestration.fault_journal import FaultEntry, FaultJournal, FaultStatus
from retinue.orchestration.follow import recorded_events
from retinue.orchestration.present.numbers import format_duration, usage_parts
from retinue.orchestration.run_nodes import RunNode, RunNodes
