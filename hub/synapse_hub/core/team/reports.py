"""What went in here against claims that another hub grants: owed to that hub until it is told. Pure."""

from __future__ import annotations

from typing import Any

import msgspec

from synapse_git.constants import LETTER_RETENTION_SECONDS, MAX_OWED_REPORTS
from synapse_git.protocol.guard import OverrideBody
from synapse_git.protocol.path import from_wire, paths_to_wire
from synapse_git.protocol.watch import ForeignEditBody
from synapse_hub.core.commands.guard import RecordForeignEdit, RecordOverride
from synapse_hub.core.events.team import ReportOwed
from synapse_hub.core.team.state import Team

OVERRIDES, FOREIGN_EDITS = "/v2/overrides", "/v2/foreign_edits"


def owed(team: Team, command: RecordOverride | RecordForeignEdit, now: float) -> list[ReportOwed]:
    """The report that follows from what is about to be put on record here, if another hub has to hear of it."""
    if not team.elsewhere(command.namespace):
        return []
    route = OVERRIDES if isinstance(command, RecordOverride) else FOREIGN_EDITS
    body = msgspec.to_builtins(_body(command))
    return [ReportOwed(at=now, namespace=command.namespace, route=route, body=body)]


def _body(command: RecordOverride | RecordForeignEdit) -> OverrideBody | ForeignEditBody:
    if isinstance(command, RecordOverride):
        return OverrideBody(
            agent=command.agent,
            namespace=command.namespace,
            worktree=command.worktree,
            paths=paths_to_wire(command.paths),
            action=command.action,  # type: ignore[arg-type]  # it came in as one
            reason_text=command.reason_text,
            spooled_at=command.spooled_at,
        )
    return ForeignEditBody(
        agent=command.agent,
        namespace=command.namespace,
        worktree=command.worktree,
        paths=paths_to_wire(command.paths),
        paths_total=command.paths_total,
        tasks=[task_id for _, task_id in command.tasks],
    )


def told_here(report: ReportOwed) -> RecordOverride | RecordForeignEdit:
    """The command by which this hub, which has come to grant there itself, hears of it."""
    if report.route == OVERRIDES:
        body = msgspec.convert(report.body, OverrideBody)
        fields: dict[str, Any] = msgspec.structs.asdict(body) | {"paths": tuple(map(from_wire, body.paths))}
        return RecordOverride(**fields)
    edit = msgspec.convert(report.body, ForeignEditBody)
    tasks = tuple((edit.namespace, task_id) for task_id in edit.tasks)
    fields = msgspec.structs.asdict(edit) | {"paths": tuple(map(from_wire, edit.paths)), "tasks": tasks}
    return RecordForeignEdit(**fields)


def owing(team: Team, number: int, report: ReportOwed) -> Team:
    """``team`` with one more to be told, the event ``number``. At the bound the oldest goes."""
    kept_from = report.at - LETTER_RETENTION_SECONDS
    reports = team.owed.put(number, report.at, report, keep_after=kept_from, capacity=MAX_OWED_REPORTS)
    return msgspec.structs.replace(team, owed=reports)
