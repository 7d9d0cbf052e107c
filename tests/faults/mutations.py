"""Small breakages of our own guards, each of which some quick test must notice. Data, and nothing else.

A breakage is one rule taken out or turned round, as an edit of the source text. When a line here no longer fits the
source, adapt it: `test_mutations.py` says which.
"""

# ruff: noqa: E501 - one breakage a line

from __future__ import annotations

from tests.faults.evasions import EVASIONS
from tests.faults.tree import Breakage
from tests.faults.tree import breakage as broken

_CORE = "hub/synapse_hub/core/"
_JOURNAL = "hub/synapse_hub/journal/"
OVERLAP, CLAIM, CLAIMS = _CORE + "overlap.py", _CORE + "claim.py", _CORE + "claims.py"
HOLDING, STATE, DECIDE = _CORE + "holding.py", _CORE + "state.py", _CORE + "decide.py"
EDITS = _CORE + "edits.py"
LEASE, GUARD, RECENT = _CORE + "lease.py", _CORE + "guard.py", _CORE + "recent.py"
HUB, WAITING, CLOCK, EXPIRY = (f"hub/synapse_hub/{name}.py" for name in ("hub", "waiting", "clock", "expiry"))
JOURNAL, MARK, SQLITE = _JOURNAL + "journal.py", _JOURNAL + "mark.py", _JOURNAL + "sqlite.py"
RECORD, SNAPSHOT, ARCHIVE = _JOURNAL + "record.py", _JOURNAL + "snapshot.py", _JOURNAL + "archive.py"
RESTART = _JOURNAL + "restart.py"
MAIL, MESSAGES, NOTICES = _CORE + "mail.py", _CORE + "messages.py", _CORE + "notices.py"
NAMED, NAMES, ROSTER = _CORE + "binding.py", _CORE + "names.py", "hub/synapse_hub/web/session/roster.py"
BOARD, NOTES, TALK = _CORE + "board.py", _CORE + "notes.py", "hub/synapse_hub/web/messages.py"
SCOPE, PROTOCOL, BINDING = (f"synapse_git/{name}.py" for name in ("scope", "protocol/body", "binding"))
IDENTITY = "synapse_git/record.py"
_FEDERATION = "hub/synapse_hub/federation/"
SIGNATURE, NONCES = _FEDERATION + "signature.py", _FEDERATION + "nonces.py"
FORM, FOREIGN = _FEDERATION + "form.py", _FEDERATION + "foreign.py"
OWNERSHIP, RECEIPTS, FORWARD = (f"{_FEDERATION}{name}.py" for name in ("ownership", "receipts", "forward"))
LINE = _FEDERATION + "line.py"
TEAM, TEAM_STATE, TEAM_DECIDE = _FEDERATION + "team.py", _CORE + "team/state.py", _CORE + "team/decide.py"
REPORTER = _FEDERATION + "reporter.py"
ADOPTION, CONVERSION = _CORE + "adoption.py", _FEDERATION + "conversion.py"
KEY, NAMING = "hub/synapse_hub/web/key.py", _FEDERATION + "names.py"
PARTY, SIGNED = "hub/synapse_hub/web/party.py", "hub/synapse_hub/web/signed.py"
ATTRIBUTION, ANNOUNCEMENTS = _CORE + "attribution.py", "hub/synapse_hub/announcements.py"
COMMAND, SHELL, STARTER, TARGETS, DIFF, SEARCH = (
    f"hooks/synapse_hooks/tools/{name}.py" for name in ("command", "shell", "starter", "targets", "diff", "search")
)
MENTIONS = "hub/synapse_hub/mentions.py"
SWITCHES = "synapse_git/switches.py"
SWEEP = "hooks/synapse_hooks/tools/sweep.py"
QUARANTINE, SPOT, PICTURE = "synapse_git/quarantine.py", "synapse_git/spot.py", "hub/synapse_watch/picture.py"
_OBSERVED = "hub/synapse_hub/federation/observation/"
TIDINGS, VIEW, FOLLOWING = _OBSERVED + "tidings.py", _OBSERVED + "view.py", "hub/synapse_hub/web/following.py"
WRITES = "hub/synapse_watch/writes.py"
ORIGIN = "hub/synapse_watch/origin.py"
TRANSFER = _CORE + "team/transfer.py"
ESTATE, DEED, SUCCESSION = (f"hub/synapse_hub/federation/{name}.py" for name in ("estate", "deed", "succession"))
LISTENING = "hub/synapse_hub/web/listening.py"
DEPARTURE = "hub/synapse_hub/web/departure.py"
ROUTES, DESK = "hub/synapse_hub/web/claims.py", "hub/synapse_hub/web/desk.py"

_SCOPES = [
    broken("overlap by text, not by parts", (SCOPE, 'inner.startswith(outer + "/")', "inner.startswith(outer)")),
    broken("overlap in one direction", (SCOPE, "return covers(a, b) or covers(b, a)", "return covers(a, b)")),
    broken("the root covers nothing", (SCOPE, "return outer == ROOT or inner == outer", "return inner == outer")),
    broken("paths may climb out", (SCOPE, 'if ".." in parts:', 'if ".." in parts[:1]:')),
    broken("paths may be absolute", (SCOPE, 'if path.startswith("/"):', 'if path.startswith("//"):')),
    broken("a path may hold a NUL", (SCOPE, 'if "\\0" in path:', 'if path == "\\0":')),
    broken("a path may be any length", (SCOPE, "> MAX_PATH_BYTES:", "> 9 * MAX_PATH_BYTES:")),
    broken("any number of paths", (SCOPE, "if len(clean) > MAX_DECLARED_PATHS:", "if len(clean) > 99_999:")),
    broken("the root is a path like any other", (SCOPE, "if ROOT in clean:", "if clean == {ROOT}:")),
    broken("no folding of case", (SCOPE, "return path.lower() if case else path", "return path")),
    broken("no composing of accents", (SCOPE, 'path = unicodedata.normalize("NFC", path)', "pass")),
    broken("the directory above does not count", (OVERLAP, "        yield from _here(node, agent)\n        child", "        child")),
    broken("what lies beneath does not count", (OVERLAP, "            yield from _here(node, agent)\n            pending.extend(node.children.values())", "            yield from _here(node, agent)")),
    broken("a foreign claim beside an own one is missed", (OVERLAP, "(1 if agent in node.owners else 0)", "1")),
    broken("own claims are in the way", (OVERLAP, "if owner != agent)\n\n\nclass", "if owner)\n\n\nclass")),
    broken("removed paths stay in the index", (OVERLAP, "return owners.set(owner, left) if left else owners.delete(owner)", "return owners.set(owner, left)")),
    broken("the guard forgets the directory above", (OVERLAP, "foreign_above += tuple(_here(child, self._agent))", "pass")),
    broken("the guard forgets own directories", (OVERLAP, "own_above += self._own(child)", "pass")),
    broken("the guard forgets what lies beneath", (OVERLAP, "return chain(foreign_above, others(child, ROOT, self._agent)), own", "return foreign_above, own")),
    broken("a checkout is another tree in each namespace", (CLAIM, 'return ("", worktree) if worktree else', "return (namespace, worktree) if worktree else")),
    broken("all shared trees are one", (CLAIM, "else (namespace, \"\")", 'else ("", "")')),
    broken("shared trees compare unfolded", (CLAIM, "return paths if worktree else", "return paths if True else")),
]  # fmt: skip

_CLAIMS = [
    broken("a live task is given away", (CLAIMS, "if held and held.owner != command.agent:", "if held and not held.owner:")),
    broken("scope conflicts are ignored", (CLAIMS, "    if conflicts:\n        return _denied", "    if conflicts and not over:\n        pass\n    if False:\n        return _denied")),
    broken("a renewal is not fenced", (CLAIMS, "if command.epoch is not None and (held", "if command.epoch == 0 and (held")),
    broken("the quota is charged to the name", (CLAIMS, "room(state, command.principal, now)", "room(state, command.agent, now)")),
    broken("one claim over the cap", (CLAIMS, "if len(held) < MAX_CLAIMS_PER_AGENT:", "if len(held) <= MAX_CLAIMS_PER_AGENT:")),
    broken("leases that are over count against the cap", (CLAIMS, "if not (claim := state.claims[key]).live(now)]", "if not (claim := state.claims[key])]")),
    broken("a renewal is charged", (CLAIMS, "renewal = held is not None and held.principal == command.principal", "renewal = False")),
    broken("a renewal by another principal is free", (CLAIMS, "renewal = held is not None and held.principal == command.principal", "renewal = held is not None")),
    broken("a renewal keeps its epoch", (CLAIMS, "epoch=state.epoch + 1,", "epoch=held.epoch if held else state.epoch + 1,")),
    broken("a renewal keeps its version", (CLAIMS, "        granted_at=now,\n", "        granted_at=now,\n        version=held.version if held else 0,\n")),
    broken("a renewal shortens a long lease", (CLAIMS, "command.ttl_s or (held.ttl_s if held else DEFAULT_TTL_SECONDS)", "command.ttl_s or DEFAULT_TTL_SECONDS")),
    broken("a takeover starts from nothing", (CLAIMS, "previous.checkpoint if previous else state.retained", "held.checkpoint if held else state.retained")),
    broken("a checkpoint is lost with its lease", (CLAIMS, "previous.checkpoint if previous else state.retained((command.namespace, command.task_id))", "previous.checkpoint if previous else None")),
    broken("widening replaces", (CLAIMS, "sorted({*kept, *command.paths})", "sorted({*command.paths})")),
    broken("widening shrinks a whole tree", (CLAIMS, "if kept and command.paths else ()", "if kept and command.paths else command.paths")),
    broken("widening has no limit", (CLAIMS, "if len(united) > MAX_DECLARED_PATHS:", "if len(united) > 99_999:")),
    broken("a held task changes its tree", (CLAIMS, "if command.worktree is not None and command.worktree != held.worktree:", "if command.worktree is not None and command.worktree == held:")),
    broken("a lease that is over is in the way", (CLAIMS, "            if not claim.live(now):\n                over", "            if not claim:\n                over")),
    broken("every denial is written", (CLAIMS, "if state.denied_lately(evidence):", "if state.denied_lately(evidence) and not evidence:")),
    broken("no denial is written", (CLAIMS, "if state.denied_lately(evidence):", "if evidence:")),
    broken("an expired lease is not written down", (CLAIMS, "before.setdefault(lapsed.key, expired(lapsed, now))", "pass")),
    broken("expired at exactly now is still live", (CLAIM, "return self.lease_expires_at > now", "return self.lease_expires_at >= now")),
    broken("a lease may be any short", (LEASE, "MINIMUM_TTL_SECONDS), MAXIMUM_TTL_SECONDS)", "0.0), MAXIMUM_TTL_SECONDS)")),
    broken("a lease may be any long", (LEASE, "MINIMUM_TTL_SECONDS), MAXIMUM_TTL_SECONDS)", "MINIMUM_TTL_SECONDS), 1e18)")),
    broken("every touch is an event", (LEASE, "< EXTEND_BELOW_SHARE * claim.ttl_s", "< 2 * claim.ttl_s")),
    broken("infinity is a length", (PROTOCOL, "return number if math.isfinite(number) else default", "return number")),
    broken("true is a length", (PROTOCOL, "if isinstance(value, bool) or not isinstance", "if not isinstance")),
]  # fmt: skip

_HOLDING = [
    broken("anyone releases", (HOLDING, "if held.owner != command.agent and not forced:", "if not held.owner and not forced:")),
    broken("every release is forced", (HOLDING, "isinstance(command, ReleaseClaim) and command.force", "isinstance(command, ReleaseClaim)")),
    broken("stale epochs act", (HOLDING, "if command.epoch is not None and command.epoch != held.epoch:", "if command.epoch == 0:")),
    broken("an epoch to come acts", (HOLDING, "command.epoch != held.epoch:", "command.epoch < held.epoch:")),
    broken("force goes past the fence", (HOLDING, "if command.epoch is not None and command.epoch != held.epoch:", "if not forced and command.epoch is not None and command.epoch != held.epoch:")),
    broken("a handoff keeps the version", (HOLDING, "        version=0,\n", "")),
    broken("a handoff keeps the epoch", (HOLDING, "        epoch=state.epoch + 1,\n", "")),
    broken("a handoff keeps the end", (HOLDING, "        lease_expires_at=now + held.ttl_s,\n", "")),
    broken("a handoff ignores third parties", (HOLDING, "    if conflicts:\n        holder", "    if conflicts and not over and not paths:\n        holder")),
    broken("a handoff is charged to its giver", (HOLDING, "state.principal_of(command.to) or held.principal", "held.principal")),
    broken("a handoff is in its own way", (HOLDING, "now, besides=held.key)", "now)")),
    broken("versions are not compared", (HOLDING, "command.expected_version != held.version:", "command.expected_version < 0:")),
    broken("versions do not rise", (HOLDING, "version=held.version + 1,", "version=held.version,")),
    broken("a checkpoint may be any size", (HOLDING, "> MAX_CHECKPOINT_BYTES:", "> 9 * MAX_CHECKPOINT_BYTES:")),
    broken("leases end early", (HOLDING, "for claim in claims if claim and not claim.live(now)]", "for claim in claims if claim]")),
    broken("a heartbeat keeps nothing alive", (HOLDING, "return Decided(events, {\"claims\": documents})", 'return Decided([], {"claims": documents})')),
    broken("a finished task leaves its checkpoint", (STATE, "return _retain(state, key, event.at) if event.forced else _drop(state, key)", "return _retain(state, key, event.at)")),
    broken("a forced release drops the checkpoint", (STATE, "return _retain(state, key, event.at) if event.forced else _drop(state, key)", "return _drop(state, key)")),
    broken("an epoch is forgotten with its renewal", (STATE, "        epoch=max(state.epoch, claim.epoch),\n        claims=state.claims.set(claim.key, claim),\n        trees=state.trees if", "        claims=state.claims.set(claim.key, claim),\n        trees=state.trees if")),
    broken("an epoch is forgotten with its claim", (STATE, "        epoch=max(state.epoch, claim.epoch),\n        claims=state.claims.set(claim.key, claim),\n        trees=state.trees.set(claim.tree", "        epoch=claim.epoch if len(state.claims) else state.epoch,\n        claims=state.claims.set(claim.key, claim),\n        trees=state.trees.set(claim.tree")),
    broken("a renewal leaves the index behind", (STATE, "trees=state.trees if known.paths == claim.paths else", "trees=state.trees if known.paths else")),
    broken("a renewal keeps what it gave up", (STATE, "        tree = overlap.remove(tree, path, claim.key, claim.owner)\n    return state.trees", "        pass\n    return state.trees")),
    broken("a renewal is charged to who had it", (STATE, "return (claim.owner, claim.principal, claim.worktree)", "return (claim.owner, claim.worktree)")),
    broken("an expiry frees nothing", (STATE, "return _retain(state, (event.namespace, event.task_id), event.at)", "return state")),
    broken("a denial ends the lease", (STATE, "            return _remember_denial(state, event)", "            return _remember_denial(_drop(state, (event.namespace, 't1')), event)")),
    broken("a minute of denials is too long", (STATE, "near(before[0], event.at, DENIAL_COALESCE_SECONDS)", "near(before[0], event.at, DENIAL_COALESCE_SECONDS + 1e-9)")),
    broken("leases of a clock gone wild stand", (HUB, "if ahead_s > ABSURDLY_AHEAD_S", "if ahead_s > ABSURDLY_AHEAD_S * 1e9")),
    broken("keys are forgotten at once", (STATE, "keep_after=event.at - IDEMPOTENCY_RETENTION_SECONDS", "keep_after=event.at - 1")),
    broken("keys are kept for ever", (STATE, "keep_after=event.at - IDEMPOTENCY_RETENTION_SECONDS", "keep_after=0.0")),
    broken("a key counts for every sender", (STATE, "(event.sender, event.verb, event.key),", '("", event.verb, event.key),'), (DECIDE, "state.answers.get((keyed.sender, keyed.verb, keyed.key))", 'state.answers.get(("", keyed.verb, keyed.key))')),
    broken("a key counts for every verb", (STATE, "(event.sender, event.verb, event.key),", '(event.sender, "", event.key),'), (DECIDE, "state.answers.get((keyed.sender, keyed.verb, keyed.key))", 'state.answers.get((keyed.sender, "", keyed.key))')),
    broken("a key answers any request", (DECIDE, "if digest == keyed.digest:", "if digest:")),
    broken("keys have no bound", (DECIDE, "full = len(state.answers) >= MAX_IDEMPOTENCY_KEYS", "full = False")),
    broken("an answered key answers for a minute", (DECIDE, "near(known[0], now, IDEMPOTENCY_RETENTION_SECONDS):\n        digest", "near(known[0], now, 60):\n        digest")),
    broken("a keyed answer is not kept", (DECIDE, "return Decided([*outcome.events, answered], outcome.answer)", "return Decided(outcome.events, outcome.answer)")),
    broken("a bounded table only grows", (RECENT, "too_many = capacity is not None and len(entries) > capacity", "too_many = False")),
    broken("every agent speaks for every other", ("synapse_git/identity.py", "return other.startswith(agent + SUBAGENT)", "return bool(other)")),
    broken("a subagent's edit leaves the path to its session too", (EDITS, "path not in taken", "path")),
    broken("automatic claims fill the quota", (EDITS, "MAX_CLAIMS_PER_AGENT - RESERVED_FOR_NAMED_CLAIMS", "MAX_CLAIMS_PER_AGENT")),
    broken("an edit claims although it is refused", (EDITS, "    if verdict.refused:\n", "    if verdict.refused and not verdict.unclaimed:\n")),
    broken("a directory is claimed although others are in it", (EDITS, "return next(overlap.others(tree, path, command.agent), None) is None", "return True")),
    broken("what is edited again is given back", ("hub/synapse_hub/web/closing.py", "    if _edited(desk, claim, set(kept), since):", "    if False:")),
    broken("many edits claim everything", (_CORE + "coarsening.py", "if parent != ROOT and", "if")),
    broken("the guard judges dead leases", (GUARD, "return self._state.claims[key].live(self.now)", "return True")),
    broken("the guard looks at one tree", (GUARD, '[("", shared)] + (', "[] + (")),
    broken("a conflict is only a warning", (GUARD, 'return "refuse" if self.refused else', 'return "warn" if self.refused else')),
    broken("the guard's denials flood the journal", (GUARD, "return Decided([] if state.denied_lately(event) else [event], {})", "return Decided([event], {})")),
]  # fmt: skip

_HUB = [
    broken("published before the commit", (HUB, "        batch = uuid.uuid4().hex\n", "        self._publish(candidate, events)\n        batch = uuid.uuid4().hex\n")),
    broken("answered before the commit", (HUB, "        batch = uuid.uuid4().hex\n", "        for ticket, answer in zip(tickets, answers, strict=True):\n            self._answer(ticket, answer)\n        batch = uuid.uuid4().hex\n"), (HUB, "        self._publish(candidate, events)\n        for ticket, answer in zip(tickets, answers, strict=True):\n            self._answer(ticket, answer)\n", "        self._publish(candidate, events)\n")),
    broken("a failed append is a grant all the same", (HUB, "            self._suspect_batch = batch\n            self._refuse(tickets)\n            return\n", "            pass\n")),
    broken("granting goes on after a failed append", (HUB, "            self._suspect_batch = batch\n", "")),
    broken("a recovered state is not used", (HUB, "        self._state = state\n        self._on_grant([", "        self._on_grant([")),
    broken("a recovery wakes nobody", (HUB, "self._freed = True  #", "self._freed = self._freed  #")),
    broken("the clock may go back", (HUB, "return max(self._clock.now(), self._last_now)", "return self._clock.now()")),
    broken("what is asked of an owner unsettles nothing", (HUB, "isinstance(event, ClaimForwarded | ReceiptEnded |", "isinstance(event, ReceiptEnded |")),
    broken("a receipt that ended unsettles nothing", (HUB, "isinstance(event, ClaimForwarded | ReceiptEnded |", "isinstance(event, ClaimForwarded |")),
    broken("nobody is told of a grant", (HUB, "if (tree := _unsettled(event))}:", "if (tree := _unsettled(event)) and False}:")),
    broken("no sweep", (HUB, "        if due:\n            self._transact_batch([_Ticket(ExpireDue", "        if not self:\n            self._transact_batch([_Ticket(ExpireDue")),
    broken("stopping forgets what is queued", (HUB, "            if tickets and self.granting:", "            if tickets and self.granting and more:")),
    broken("every try of a waiter is a denial", (HUB, "outcome = msgspec.structs.replace(outcome, events=())", "pass")),
    broken("an expiry wakes nobody", (HUB, "_FREEING = (ClaimReleased, LeaseExpired, ", "_FREEING = (ClaimReleased, ")),
    broken("the last waiter comes first", (WAITING, "return sorted(self._waiters)", "return sorted(self._waiters, reverse=True)")),
    broken("circles may wait", (WAITING, "if self._reaches(owners, agent):", "if self._reaches(owners, '') and not agent:")),
    broken("long circles may wait", (WAITING, "            } - seen\n", "            } & seen\n")),
    broken("any refusal waits", (WAITING, "if refusal.reason not in _PASSING or patience", "if patience")),
    broken("whoever left still waits", (WAITING, "if one.patience.until <= now or not one.patience.alive()]", "if one.patience.until <= now]")),
    broken("a renewed lease is swept early", (EXPIRY, "            if claim.live(now):\n                heapq", "            if not claim:\n                heapq")),
    broken("an extended lease is never swept", (EXPIRY, "heapq.heappush(self._heap, (claim.lease_expires_at, epoch, key))\n            else", "pass\n            else")),
    broken("leases run on the wall clock", (CLOCK, "return self._offset + boot_seconds()", "return time.time()")),
    broken("sleep does not count", (CLOCK, "    return time.clock_gettime(time.CLOCK_BOOTTIME)", "    return time.clock_gettime(time.CLOCK_MONOTONIC)")),
    broken("every restart anchors anew", (CLOCK, "if anchor is None or anchor.boot_id != identity:", "if identity:")),
    broken("a reboot does not anchor anew", (CLOCK, "if anchor is None or anchor.boot_id != identity:", "if anchor is None:")),
    broken("a reboot may go back", (CLOCK, "else max(wall, last_event_at)", "else wall")),
    broken("any future is believed", (CLOCK, "return wall if last_event_at - wall > ABSURDLY_AHEAD_S else", "return wall if False else")),
]  # fmt: skip

_JOURNALS = [
    broken("the chain is not checked", (JOURNAL, "if digest != record.hash:", "if not digest:")),
    broken("gaps are passed over", (JOURNAL, "if record.seq != seq + 1 and", "if record.seq <= seq and")),
    broken("a journal below its mark is granted from", (JOURNAL, "if state.seq < mark.seq or state.epoch < mark.epoch:", "if state.seq < 0:")),
    broken("another journal is taken for ours", (JOURNAL, "record.seq == mark.seq and digest.hex() != mark.head", "record.seq == mark.seq and not mark.head")),
    broken("without a mark it starts afresh", (JOURNAL, "if found is None and existed and next", "if found is None and not existed and next")),
    broken("without a journal it starts afresh", (JOURNAL, "if found and not existed:", "if found and existed and not found.seq:")),
    broken("a mark ahead of its journal", (JOURNAL, "        self._store.append(records, durable=durable)\n        self._head, self._seq = head, self._seq + len(records)\n        if durable:\n            self._advance(Mark(self.hub_id, self.incarnation, self._seq, epoch", "        if durable:\n            self._advance(Mark(self.hub_id, self.incarnation, self._seq + len(records), epoch"), (JOURNAL, "head.hex(), self._mark.turn + 1))\n\n    def _advance", "head.hex(), self._mark.turn + 1))\n        self._store.append(records, durable=durable)\n        self._head, self._seq = head, self._seq + len(records)\n\n    def _advance")),
    broken("the mark does not move", (JOURNAL, "        if durable:\n            self._advance(", "        if not records:\n            self._advance(")),
    broken("the newest rows are compacted too", (JOURNAL, "min(self._forgettable, self._seq - KEPT_EVENTS)", "self._seq")),
    broken("one snapshot is enough to forget", (JOURNAL, "self._forgettable, self._snapshot_seq = self._snapshot_seq, snapshot.seq", "self._forgettable = self._snapshot_seq = snapshot.seq")),
    broken("nothing is ever forgotten", (JOURNAL, "return upto > 0 and self._store.forget", "return upto < 0 and self._store.forget")),
    broken("a damaged snapshot is believed", (SNAPSHOT, "return hashlib.sha256(self.body).digest() == self.digest", "return True")),
    broken("a snapshot forgets answered keys", (SNAPSHOT, "answers=Recent.of(image.answers)", "answers=Recent()")),
    broken("epochs are used again after a snapshot", (SNAPSHOT, "        epoch=image.epoch,\n", "")),
    broken("the hash leaves the body out", (RECORD, "sha256(previous + head + body)", "sha256(previous + head)")),
    broken("the hash does not chain", (RECORD, "sha256(previous + head + body)", "sha256(head + body)")),
    broken("unknown events are skipped", (JOURNAL, "except (UnknownEvent, StoreError) as error:", "except UnknownEvent:\n        pass\n    except StoreError as error:")),
    broken("a torn mark is believed", (MARK, "if int(checksum, 16) != zlib.crc32(body):", "if int(checksum, 16) < 0:")),
    broken("the mark has one slot", (MARK, "(mark.turn % 2) * _SLOT_BYTES", "0 * _SLOT_BYTES")),
    broken("the older slot is read", (MARK, "return max(marks", "return min(marks")),
    broken("synchronous=NORMAL", (SQLITE, "'FULL' if durable else 'NORMAL'", "'NORMAL'")),
    broken("no write-ahead log", (SQLITE, "PRAGMA journal_mode=WAL", "PRAGMA journal_mode=DELETE")),
    broken("others may read the journal", (SQLITE, "os.O_RDWR | os.O_CREAT, 0o600))", "os.O_RDWR | os.O_CREAT, 0o644))")),
    broken("compaction drops the evidence", (SQLITE, "WHERE seq <= ? AND kind IN ({marks})", "WHERE seq <= ? AND seq < 0 AND kind IN ({marks})")),
    broken("an import starts from the old epochs", (RESTART, "leap = 0 if mark else _UNKNOWN_EPOCHS", "leap = 0")),
    broken("an import goes below our epochs", (RESTART, "epoch=max([found.state.epoch, *(one.epoch for one in known)]) + leap", "epoch=found.state.epoch + leap")),
    broken("an altered export is imported", (ARCHIVE, "if trailer.sha256 != digest.hexdigest() or", "if")),
    broken("verify is always content", (ARCHIVE, "        \"ok\": not detail,", '        "ok": True,')),
]  # fmt: skip

_WIRE = [
    broken("a key counts for every agent on the wire", (KEY, 'sender = f"{principal(request)}/{command.agent}"', "sender = principal(request)")),
    broken("a key counts for every user on the wire", (KEY, 'sender = f"{principal(request)}/{command.agent}"', "sender = command.agent")),
    broken("the principal is what the client says", (ROUTES, "        principal=principal(request),\n", "        principal=body.agent,\n")),
    broken("dead leases are listed", (ROUTES, "    claim = state.live(key, now) or state.team.held(key, now)\n    if claim is None:", "    claim = state.claims.get(key)\n    if claim is None:")),
    broken("force needs no reason", (ROUTES, "if body.force and not reason.strip():", "if body.force and reason is None:")),
    broken("a body may be any size", (DESK, "if len(body) > MAX_BODY_BYTES:", "if len(body) > 99 * MAX_BODY_BYTES:")),
    broken("a name may be blank", (DESK, "if not text.strip() or not text.isprintable()", "if not text.isprintable()")),
    broken("a name may hold anything", (DESK, "if not text.strip() or not text.isprintable()", "if not text.strip()")),
    broken("any depth is parsed", (PROTOCOL, "            if depth > MAX_JSON_DEPTH:", "            if depth > 9_999_999:")),
    broken("unknown fields are passed over", (PROTOCOL, "frozen=True, forbid_unknown_fields=True, kw_only=True):\n    \"\"\"Base of all", 'frozen=True, kw_only=True):\n    """Base of all')),
]  # fmt: skip

_GUARD = [
    broken("a lock that a killed run left stays", ("hooks/synapse_hooks/configfile.py", "for one in (draft, target)):", "for one in ()):")),
    broken("any hub is believed", (BINDING, "    if bound is None:\n        return env\n    if chosen", "    if bound is not None:\n        return env\n    if chosen")),
    broken("a hub out of reach is replaced", (BINDING, "        raise HubUnreachable(_stranded(env, bound, f\"cannot be reached", "        return env\n        raise HubUnreachable(_stranded(env, bound, f\"cannot be reached")),
    broken("an id that cannot be read is made anew", (IDENTITY, "return None, raw is not None or spare is not None", "return None, False")),
    broken("a lost id is not looked for twice", (IDENTITY, "    spare = _raw(second)\n", "    spare = None\n")),
    broken("any word is an id", (IDENTITY, "if len(bytes.fromhex(identity.decode(\"ascii\"))) != _ID_BYTES:", "if not identity:")),
    broken("the last hub to grant is the one", (BINDING, "if bound is None or bound.hub_id != hub_id or", "if bound is None or hub_id or")),
    broken("a binding that cannot be read binds nobody", (BINDING, "if found is None and was_kept:", "if found is None and not NAME:")),
    broken("any word is a binding", (BINDING, "if len(fields) == 3 and fields[1] and (fields[0] or fields[2]) else None", "if len(fields) == 3 else None")),
]  # fmt: skip

_SIGNATURES = [
    broken("a replay passes", (SIGNATURE, "if nonces.known(proof.key_id, proof.nonce, proof.created):", "if not proof.nonce:")),
    broken("the window is open a second longer", (SIGNATURE, "created < now - DEFAULT_MESSAGE_AUTH_WINDOW_SECONDS", "created < now - 1 - DEFAULT_MESSAGE_AUTH_WINDOW_SECONDS")),
    broken("the future is let in", (SIGNATURE, "created > now + DEFAULT_MESSAGE_AUTH_FUTURE_SKEW_SECONDS", "created > now + 5000")),
    broken("what came before the start is let in", (SIGNATURE, "if proof.signed_at() < started:", "if proof.signed_at() < 0:")),
    broken("headers are not covered", (FORM, "return (*_ALWAYS, *named)", "return _ALWAYS")),
    broken("the body is not covered", (FORM, "or headers.get(_DIGEST) != _digest(request.body):", ":")),
    broken("the body of another form is not covered", (FOREIGN, "body=request.body,", "body=None,")),
    broken("another form covers what it likes", (FOREIGN, "require_components=request.covered(),", "")),
    broken("the lean form trusts any signature", (FORM, "key.verify(signature, _base(", "(lambda *_: None)(signature, _base(")),
    broken("the lean form trusts what it could not sign", (FORM, "value.isascii() and value.isprintable() and value == value.strip()", "value is not None")),
    broken("a signature is for whoever gets it", (FORM, 'return f"synapse for {recipient}"', 'return "synapse"')),
    broken("nonces outlive nothing", (NONCES, "if second < now - DEFAULT", "if second < now + 1 - DEFAULT")),
    broken("nonces are kept for ever", (NONCES, "if second < now - DEFAULT", "if second < 0 * now - DEFAULT")),
    broken("a clock set back makes replays new", (SIGNATURE, "if nonces.outlived(proof.created):", "if nonces.outlived(0) and not proof.created:")),
    broken("nonces have no bound", (NONCES, "if self._count >= MAX_REMEMBERED_NONCES:", "if self._count < 0:")),
]  # fmt: skip

_TEAMS = [
    broken("what nobody owns is granted here", (OWNERSHIP, "    if team.governed or (file is not None and file.namespaces):\n        return _ungoverned", "    if False:\n        return _ungoverned")),
    broken("without its file an owned namespace is granted here", (OWNERSHIP, "    if known is not None:\n        why", "    if False:\n        why"), (OWNERSHIP, "    if team.governed or (file", "    if (file")),
    broken("a broken file is no file", (OWNERSHIP, "    if broken:\n        return _ungoverned", "    if False:\n        return _ungoverned")),
    broken("two owners grant side by side", (OWNERSHIP, "if known is not None and known.contested_by:", "if known is None:")),
    broken("the core grants what is contested", (TEAM_DECIDE, "    if known.contested_by:\n        return contested(namespace, known.owner", "    if False:\n        return contested(namespace, known.owner")),
    broken("the core grants what others own", (TEAM_DECIDE, "    if not known.mine:", "    if known is None:")),
    broken("anybody may contest", (TEAM_DECIDE, "known is not None and command.by != known.owner and", "known is not None and")),
    broken("anybody heals what is contested", (TEAM_DECIDE, "command.owns != (command.by in known.contested_by)", "command.owns != bool(known.contested_by)"), (TEAM_STATE, "if name != event.by)\n    by", "if not event.by)\n    by")),
    broken("any peer is served", (TEAM, "entry.owner == self.id and peer in entry.members", "entry.owner == self.id")),
    broken("more than one hop", (TEAM, "return entry is not None and entry.owner == self.id and peer", "return entry is not None and peer")),
    broken("peers need not be members", (PARTY, "if hub and not desk.team.member(hub, namespace):", "if hub and not namespace:")),
    broken("a peer's agent speaks for this hub's", (PARTY, "_spoken(request, desk.team.from_peer(hub, name))", "_spoken(request, name)")),
    broken("agents here speak for a peer's", (PARTY, "if desk.team.foreign(name):", "if not name:")),
    broken("a peer's principals are this hub's", (PARTY, 'return _spoken(request, f"{hub}/{said}")', "return said")),
    broken("a report goes with the process", (SNAPSHOT, "list(state.team.owed.items())", "[]"), (STATE, "team=owing(state.team, state.seq + 1, event)", "team=state.team")),
    broken("a report is told again", (REPORTER, 'f"report-{number}-{report.at!r}"', "secrets.token_hex(8)"), (REPORTER, "import asyncio\n", "import asyncio\nimport secrets\n")),
    broken("a report is done with unheard", (REPORTER, "return reply.reason not in _PASSING", "return True")),
    broken("an override is nobody else's business", (GUARD, "else [event, *owed(state.team, command, now)]", "else [event]")),
    broken("a foreign edit is nobody else's business", (_CORE + "foreign.py", "() if command.quarantine else owed", "() if command else owed")),
    broken("a new owner does not tell itself", (REPORTER, "await self._transact(told_here(report))", "pass")),
    broken("what was held in a team outlives it", (TEAM_STATE, "            return _freed(team, event)\n", "            return team\n")),
    broken("a hub joins whatever its clock says", (_FEDERATION + "joining.py", "if abs(ahead_s) > _CLOCKS_APART_S:", "if not ahead_s:")),
    broken("a transfer that is broken off stays so", (_FEDERATION + "conveyance.py", "while estates := list(self._hub.state.team.estates):", "while estates := list[str]():")),
    broken("a letter that was read comes again", (MESSAGES, "command.number <= state.mail.arrived_upto", "command.number < state.mail.arrived_upto")),
    broken("letters of a hub that counts anew are lost", (_OBSERVED + "post.py", "{peer.key if peer else ''}", "")),
    broken("what has come is forgotten with the process", (MAIL, ", list(mail.arrived.items()))", ")")),
    broken("a team begins beside claims of before", (CONVERSION, "    if held and not convert:", "    if held and convert:")),
    broken("claims of before a team stay in their checkout", (ADOPTION, 'worktree="" if command.shared else claim.worktree', "worktree=claim.worktree")),
    broken("claims of before a team lose their checkpoint", (ADOPTION, ", status=claim.status, checkpoint=claim.checkpoint", "")),
    broken("some claims of before go on although others cannot", (ADOPTION, "        if isinstance(outcome, Refusal):\n            detail", "        if isinstance(outcome, Refusal):\n            break\n            detail")),
    broken("one path for all may be wished for later in passing", (CONVERSION, "known.exclusion != entry.exclusion", "False")),
    broken("a key between hubs has to be plain", (KEY, "plain = key.isascii() and key.isprintable()", "plain = True")),
    broken("words for another hub name agents as here", (NAMING, "_reworded(told[member],", "str(told[member] or")),
    broken("what goes back through another hub is not looked at", ("hub/synapse_hub/web/closing.py", " or state.team.held(key, now)", "")),
    broken("an edit allowed through another hub is not announced", ("hub/synapse_hub/web/guard.py", 'response.headers.get("synapse-verdict", "refuse") != "refuse"', "False")),
    broken("at home an agent's full name is another's", (NAMING, "return rest if rest and hub == me else name", "return name")),
    broken("the hub's own name can be had in full", (PARTY, "agent_name(min(name, meant, key=len))", "agent_name(name)")),
    broken("peers may ask for anything", (SIGNED, 'if (scope["method"], scope["path"]) not in self._routes:', "if not self._routes:")),
    broken("a peer has no cap", (CLAIMS, "if held < MAX_CLAIMS_PER_PEER:", "if held < 99_999:")),
    broken("a receipt counts as long as the lease", (RECEIPTS, "(1 - CLOCK_DRIFT_SHARE), RECEIPT_VALIDITY_SECONDS)", "(1 - CLOCK_DRIFT_SHARE), 1e9)")),
    broken("a receipt allows for no drift", (RECEIPTS, "* (1 - CLOCK_DRIFT_SHARE), RECEIPT", ", RECEIPT")),
    broken("a receipt goes by the owner's clock", (RECEIPTS, "shift = sending.boot - now", "shift = 0.0")),
    broken("a receipt outlives a reboot", (TEAM_STATE, " or boot_id != receipt.boot_id:", ":")),
    broken("the wall clock ends no receipt", (TEAM_STATE, "- now, receipt.valid_until_wall - wall", "- now, receipt.valid_until - now")),
    broken("a receipt covers while something is under way", (TEAM_STATE, "or key in self.under_way or boot_id", "or boot_id")),
    broken("an answer settles what was asked before it", (TEAM_STATE, "left = _without(begun, key)", "left = ()")),
    broken("a listing revives what may be given back", (TEAM_DECIDE, "if key not in doubtful and _older(", "if _older(")),
    broken("an older listing replaces a newer answer", (TEAM_DECIDE, "known.at <= sent_at and (known.owner_seq <= told.owner_seq or", "known.at <= sent_at and (known.at or")),
    broken("what is not listed any more stays covered", (TEAM_DECIDE, "elif receipt.at <= command.sent_at and key not in doubtful:", "elif receipt.at < 0:")),
    broken("a revocation is not heard while something is under way", (TEAM_DECIDE, "if receipt.claim.epoch <= revoked.get(key, 0):", "if receipt.claim.epoch <= revoked.get(key, 0) and key not in team.under_way:")),
    broken("the intent is not on record", (FORWARD, "            begun = await self._transact(intent)\n            if isinstance(begun.outcome, Refusal):\n                return begun\n", "")),
    broken("a replay is a receipt", (FORWARD, "isinstance(command, ReleaseClaim) or reply.replayed:", "isinstance(command, ReleaseClaim):")),
    broken("a released receipt stays", (FORWARD, "isinstance(command, ReleaseClaim) or reply.replayed:\n            # An answer that is given again says what was granted then; what is held now, the owner's list says.\n            ended = True", "isinstance(command, ReleaseClaim) or reply.replayed:\n            ended = False")),
    broken("a refusal of one of two copies settles both", (FORWARD, "if not reply.reason or (alone and reply.alone and reply.reason not in _UNDECIDED):", "if True:")),
    broken("what was not sent now settles what was sent before", (FORWARD, "if alone and not error.sent:", "if not error.sent:")),
]  # fmt: skip

_TALKING = [
    broken("a watermark may fall", (MAIL, "upto = max(event.seq, mail.watermark(event.agent))", "upto = event.seq"), (MESSAGES, "if upto > before else []", "if upto >= 0 else []")),
    broken("an acknowledgement reaches into the future", (MESSAGES, "upto = min(command.seq, state.seq)", "upto = command.seq")),
    broken("what was acknowledged stays in its box", (MAIL, "left = tuple(message for message in box if message.seq > upto)", "left = box")),
    broken("what was acknowledged still counts", (MAIL, "done = [message.seq for message in box if message.seq <= upto]", "done = [message.seq for message in box if message.seq == upto]")),
    broken("an acknowledgement is for nothing", (MESSAGES, "if upto > before else []", "if upto < before else []")),
    broken("a letter to one who is away is dropped", (MESSAGES, 'return Decided([event], {"timestamp"', 'return Decided([event] if command.reached or command.to is None else [], {"timestamp"')),
    broken("a full mailbox forgets the oldest", (MESSAGES, "if letters >= MAX_MAILBOX_LETTERS:", "if letters >= 99 * MAX_MAILBOX_LETTERS:")),
    broken("mailboxes together have no bound", (MESSAGES, "if len(mail.letters) >= MAX_LETTERS and", "if len(mail.letters) >= 99 * MAX_LETTERS and")),
    broken("letters that are over fill a mailbox", (MESSAGES, "not message.notice and message.sent.at > kept_from", "not message.notice")),
    broken("notices fill a mailbox", (MESSAGES, "sum(not message.notice and", "sum(")),
    broken("notices crowd out letters", (MAIL, "if message.notice is notice]", "if message.seq]")),
    broken("a box of notices only grows", (MAIL, "over = kind[: max(len(kind) - most, 0)]", "over = kind[:0]")),
    broken("a full box takes another's room", (MAIL, "    before = _all_without(order, over)\n", "    before = order\n")),
    broken("letters that went stay in their box", (MAIL, "            boxes = _without(boxes, found[1], seq)", "            pass")),
    broken("chat only grows", (MAIL, "(*mail.chat, message)[-MAX_RETAINED_CHAT:]", "(*mail.chat, message)")),
    broken("chat is kept for ever", (MAIL, "if near(one.sent.at, sent.at, CHAT_RETENTION_SECONDS))", "if one)")),
    broken("yesterday's chat is shown", (MAIL, " or not near(message.sent.at, now, CHAT_RETENTION_SECONDS):", ":")),
    broken("chat comes back to its sender", (MAIL, "if message.sent.sender != agent:", "if message.seq != agent:")),
    broken("chat that was acknowledged is shown again", (MAIL, "if message.seq <= after or", "if message.seq < 0 or")),
    broken("a page starts over", (MAIL, "own = [message for message in self.box(agent) if message.seq > after]", "own = list(self.box(agent))")),
    broken("letters come before chat", (MAIL, "return sorted(own, key=lambda message: message.seq)", "return own")),
    broken("readers are not bounded", (MAIL, "keep_after=0.0, capacity=MAX_REMEMBERED_READERS)\n    box", "keep_after=0.0)\n    box")),
    broken("a snapshot forgets letters", (MAIL, "[*mail.chat, *(message for box in mail.boxes.values() for message in box)]", "[*mail.chat]")),
    broken("a snapshot forgets watermarks", (MAIL, "return MailImage(messages, list(mail.watermarks.items()),", "return MailImage(messages, [],")),
    broken("a snapshot forgets what was noticed", (MAIL, "list(mail.noticed.items())", "[]")),
    broken("the sender's clock orders", (MESSAGES, "        at=now,\n        sender", "        at=command.client_timestamp or now,\n        sender")),
    broken("a sender's id is lost", (MESSAGES, "client_msg_id=command.client_msg_id,", "client_msg_id=None,")),
    broken("everything is delivered", (MESSAGES, '"delivered": command.reached}', '"delivered": True}')),
    broken("no finite timestamp is a timestamp", (TALK, "stamped = finite(body.client_timestamp, math.nan)", "stamped = finite(body.client_timestamp, 0.0)")),
    broken("a message may be any size", (TALK, "> MAX_MESSAGE_BYTES:", "> 99 * MAX_MESSAGE_BYTES:")),
    broken("a blank message is one", (TALK, "if not body.strip():", "if body is None:")),
    broken("anyone speaks as the hub", (DESK, "if name.strip().casefold() == HUB_AGENT:", "if name == HUB_AGENT * 2:")),
    broken("a loop is told each time", (NOTICES, "        if about and (", "        if not about and (")),
    broken("nobody is told of a conflict", (NOTICES, "yield from _conflict(state, event)", "yield from ()")),
    broken("nobody is told of an override", (NOTICES, "yield from _override(state, event)", "yield from ()")),
    broken("nobody is told of an edit", (NOTICES, "yield from _foreign(state, event)", "yield from ()")),
    broken("nobody is told of a takeover", (NOTICES, "yield from _takeover(state, event)", "yield from ()")),
    broken("nobody is told of an expiry", (NOTICES, "    if over:\n", "    if not over:\n")),
    broken("nobody is told of a handover", (NOTICES, "                yield _handover(state, event)", "                pass")),
    broken("whoever gives back is told so", (NOTICES, "case ClaimRevoked() | ClaimReleased(forced=True) if event.by != event.owner:", "case ClaimRevoked() | ClaimReleased(forced=True):")),
    broken("a renewed lease is told as over", (NOTICES, "takers.get(key) != event.owner:", "takers.get(key) != 7:")),
    broken("whoever was refused is told twice", (NOTICES, 'seen = {agent, ""}', 'seen = {""}')),
    broken("a message does not say where", (NOTICES, "if place else", "if not place else")),
    broken("a move is told as a refusal", (NOTICES, "if isinstance(event, GuardDenied) and event.moved:", "if isinstance(event, GuardDenied) and not event.moved:")),
    broken("notes of a task only grow", (BOARD, "_at_most(MAX_TASK_NOTES, notes,", "_at_most(9999, notes,")),
    broken("notes of an agent only grow", (BOARD, "_at_most(MAX_AGENT_NOTES, notes,", "_at_most(9999, notes,")),
    broken("notes only grow", (BOARD, "notes=tuple(notes[-MAX_NOTES:])", "notes=tuple(notes)")),
    broken("notes are kept for ever", (BOARD, "if note.added.at > added.at - NOTE_RETENTION_SECONDS]", "if note]")),
    broken("the newest notes go", (BOARD, "group[: max(len(group) - most, 0)]", "group[most:]")),
    broken("offers only grow", (BOARD, "offer)[-MAX_RESOURCES:])", "offer))")),
    broken("offers that ended are listed", (BOARD, "if now < offer.expires_at <=", "if now <= offer.expires_at <=")),
    broken("an offer stands twice", (BOARD, "if _resource(offer) != _resource(one))", "if offer)")),
    broken("anyone withdraws an offer", (NOTES, "(offer.agent, offer.namespace, offer.name) == (command.agent, command.namespace, command.name)", "(offer.namespace, offer.name) == (command.namespace, command.name)")),
    broken("what is withdrawn is on offer", (BOARD, "offers=tuple(_others(board, event))", "offers=board.offers")),
    broken("what a wild clock said is believed", (RECENT, "return abs(now - at) < seconds", "return now - at < seconds")),
    broken("what a wild clock offered is listed", (BOARD, "<= now + MAXIMUM_TTL_SECONDS)", "< 1e18)")),
    broken("a note in a loop floods", (NOTES, "return Decided([] if same else [event], answer)", "return Decided([event], answer)")),
    broken("a snapshot forgets the board", (SNAPSHOT, "board=board.restored(image.notes, image.offers)", "board=board.restored([], [])")),
]  # fmt: skip

_NAMES = [
    broken("anyone acts under a bound name", (NAMED, "if owner is None or owner.secret_sha256 == session:", "if owner is None or session is not None:")),
    broken("a bound name is bound again", (NAMED, "    if owner and (owner.secret_sha256, owner.principal) != (command.secret_sha256, command.principal):\n", "    if owner and not owner:\n")),
    broken("another user's secret is as good", (NAMED, "(owner.secret_sha256, owner.principal) != (command.secret_sha256, command.principal)", "owner.secret_sha256 != command.secret_sha256")),
    broken("a pinned key is not asked for", (NAMED, "if pinned and command.key != pinned:", "if pinned and command.key and command.key != pinned:")),
    broken("any key will do", (NAMED, "if pinned and command.key != pinned:", "if pinned and not command.key:")),
    broken("anybody ends a session", (NAMED, "(owner := state.names.live.get(agent)) and owner.secret_sha256 == secret", "(owner := state.names.live.get(agent))")),
    broken("anybody takes a name back", (NAMED, "if command.principal not in principals:", "if not principals:")),
    broken("a name is free at once", (NAMES, "if found and found[0] + DEFAULT_LEASE_OFFLINE_TTL > now else None\n\n    def free_at", "if found and found[0] > now else None\n\n    def free_at")),
    broken("a name is never free", (NAMES, "if found and found[0] + DEFAULT_LEASE_OFFLINE_TTL > now else None\n\n    def free_at", "if found else None\n\n    def free_at")),
    broken("a name that is taken back keeps its key", (NAMES, "keys=self.keys.without(event.agent))", "keys=self.keys)")),
    broken("names of who is away only grow", (NAMES, "            capacity=MAX_BOUND_NAMES,\n", "")),
    broken("keys only grow", (NAMES, "keep_after=0.0, capacity=MAX_PINNED_KEYS)", "keep_after=0.0)")),
    broken("the next session ends with the one before", (ROSTER, "                    if link.bound:\n                        link.end(code", "                    if link:\n                        link.end(code")),
]  # fmt: skip

_WATCHERS = [
    broken("an announcement of anything accuses", (ATTRIBUTION, "one.written and one.sha256 == change.sha256 and earliest", "one.written and earliest")),
    broken("an announcement of long ago accuses", (ATTRIBUTION, "and earliest <= one.at <= latest", "and one.at <= latest")),
    broken("one of two writers is accused", (ATTRIBUTION, "min(makers) if len(makers) == 1 else UNKNOWN", "min(makers, default=UNKNOWN)")),
    broken("whoever wrote the same as the holder is accused", (ATTRIBUTION, "if any(agent == holder or", "if any(")),
    broken("what came before the grant is held against somebody", (ATTRIBUTION, "    if change.changed_at < claim.granted_at:\n", "    if not change.path:\n")),
    broken("a holder alone in the worktree is not the one", (ATTRIBUTION, "if set(told.present) == {holder} or ", "if ")),
    broken("whoever is alone is the holder", (ATTRIBUTION, "set(told.present) == {holder}", "len(set(told.present)) == 1")),
    broken("an intent lasts for ever", (ATTRIBUTION, "return change.changed_at - last.at <= patience", "return True")),
    broken("a finished edit excuses the next", (ATTRIBUTION, "EDIT_SLACK_SECONDS if last.written else EDIT_INTENT_SECONDS", "EDIT_INTENT_SECONDS")),
    broken("an automatic claim excuses for ever", (ATTRIBUTION, "claim.key[1].startswith(AUTOMATIC) and change", "claim.key[1].startswith(AUTOMATIC) or change")),
    broken("another's word is not looked into", (ATTRIBUTION, "if unseen and any(one.agent != claim.owner for one in told.announced):", "if not claim:")),
    broken("Git's work is anybody's who ran it once", (ATTRIBUTION, "if abs(at - when) <= EDIT_SLACK_SECONDS", "if when")),
    broken("running Git accuses of whatever was written", (ATTRIBUTION, "    if change.git:", "    if change.path:")),
    broken("an agent is accused as generously as it is excused", (ATTRIBUTION, "if abs(at - when) <= _CLOSE_S", "if abs(at - when) <= EDIT_SLACK_SECONDS")),
    broken("a subagent is a stranger to its session", (ATTRIBUTION, "or acts_for(agent, holder) or acts_for(holder, agent) for", "for")),
    broken("what a holder wrote before is strange when it comes back", (ATTRIBUTION, " or _written_before(holder, change, told.announced):", ":")),
    broken("an expected edit excuses before all have spoken", (ATTRIBUTION, "    if told.complete and _expected(", "    if _expected(")),
    broken("what is excused counts as known", (ATTRIBUTION, "msgspec.structs.replace(told, complete=False)", "told")),
    broken("a stash that comes back is nobody's doing", (ORIGIN, "MOVED if truth.interrupted() else GIVEN", "MOVED")),
    broken("whoever resolves a conflict is taken for Git", (ORIGIN, "left = [path for path in left if path not in same]", "found |= dict.fromkeys(left, meaning)")),
    broken("what somebody changed since is taken for moved", (ORIGIN, " - self._truth.dirty().keys()", "")),
    broken("a stash that was dropped is forgotten", (ORIGIN, "> _MOST_STASHES", "> 0")),
    broken("what was judged first hides what came after", (ANNOUNCEMENTS, "max(one.at, self._order[-1][0]) if self._order else one.at", "one.at")),
    broken("announcements are never forgotten", (ANNOUNCEMENTS, "if one.at > now - EDIT_MEMORY_SECONDS]", "if one.at]")),
    broken("announcements have no bound", (ANNOUNCEMENTS, "len(self._order) > MAX_REMEMBERED_EDITS", "not self._order")),
    broken("presence lasts for ever", (ANNOUNCEMENTS, "where == tree and at > now - PRESENCE_SECONDS}", "where == tree and at}")),
    broken("no copy is kept of what is replaced", (QUARANTINE, "        _write(f\"{draft}/{_FOUND}\", found, 0o600)\n", "        pass\n")),
    broken("what came last is not looked at", (QUARANTINE, "    if _read(swap) != found:\n", "    if not swap:\n")),
    broken("what is not expected is replaced", (QUARANTINE, "found is not None and _digest(found) != expected)", "found is not None and not expected)")),
    broken("a second name loses its file", (QUARANTINE, " or found.st_nlink > 1:", ":")),
    broken("links are followed", (QUARANTINE, "os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK", "os.O_RDONLY | os.O_NONBLOCK")),
    broken("a reset throws nothing away", (SWEEP, 'whole, given = "--hard" in options, []', "whole, given = False, []")),
    broken("a clean that only tells is taken for one", (SWEEP, ' and "n" not in letters', "")),
    broken("a setting of the user's goes before the project's", (SWITCHES, "[*([administrators] if administrators else []), *map(os.path.normpath, found)]", "[*map(os.path.normpath, reversed(found))]")),
    broken("a setting that was overruled silences", (SWITCHES, "if found is silencing and not settled:", "if found is silencing:")),
    broken("a linked directory leads out of the tree", (SPOT, "_DIRECTORY | os.O_NOFOLLOW", "_DIRECTORY")),
    broken("what was not replaced is reported as replaced", (QUARANTINE, 'return _digest(file.read()) != str(self.about["put"])', "return True")),
    broken("two writes are one", (WRITES, "now == (since[0] + 1, since[1])", "now[1] == since[1]")),
    broken("what was not counted all along is counted", (WRITES, "if now[1] <= last else UNKNOWN", "if now else UNKNOWN")),
    broken("a directory that comes back was there all along", (WRITES, "self._last += 1", "self._last = 1")),
    broken("two writes alike are one to the kernel", (WRITES, "_WATCHED = _COUNTED | _MODIFY | _CREATE", "_WATCHED = _COUNTED")),
    broken("a submodule is judged in the midst of it", (ORIGIN, "if truth.busy() or truth.moment() != moment:", "if truth.moment() != moment:")),
    broken("what was deeper down is forgotten", (PICTURE, "    while path := os.path.dirname(path):\n", "    if path := os.path.dirname(path):\n")),
    broken("a closed descriptor is a file", (SHELL, 'if redirection in (">&", "<&") and (', 'if redirection == "<&" and (')),
    broken("what was noted is news", (PICTURE, "if mark == self._marks.get(path):", "if not path:")),
    broken("what nobody touched is news", (PICTURE, "if mark and changed_at < self.at - _COARSE_S:", "if not path:")),
]  # fmt: skip

_COMMANDS = [
    broken("a subshell's directory outlives it", (COMMAND, "if inner.here == place.here else None", "if inner.here else None")),
    broken("what comes after exit is read", (COMMAND, "            place.over = always\n", "            place.over = False\n")),
    broken("a cd to nowhere leads somewhere", (COMMAND, ' or not os.path.isdir(place.here or "/")', "")),
    broken("a group's redirections lie where it went", (COMMAND, "                self._redirected(command, place)\n                if", "                self._redirected(command, inner)\n                if")),
    broken("arithmetic is a subshell", (SHELL, '            or text == "(("\n', "")),
    broken("a half-read command counts", (SHELL, "        current.words = []\n", "        pass\n")),
    broken("a document that is expanded is read as it stands", (SHELL, "if delimiter.quoted or not set(\"$`\\\\\") & set(body):", "if body:")),
    broken("anybody's rm is the system's", (TARGETS, "if folder in _PROGRAMS and", "if folder or")),
    broken("an option of perl's is a loop", (TARGETS, "or (looping and not seen & set(looping))", "")),
    broken("lines of a hunk are names", (DIFF, "            _skip(lines, line)\n", "            pass\n")),
    broken("a patch that does not fit is applied", (DIFF, "if all(found) else []", "if found else []")),
    broken("a search that asks for more is read", (SEARCH, "if not known or not value.certain", "if not value.certain")),
    broken("a stash brings nothing", (SWEEP, 'in (["pop"], ["apply"])', 'in (["drop"],)')),
    broken("files that Git did not know stay in a stash", (SWEEP, "yield from () if failed else unknown", "yield from () if unknown else unknown")),
    broken("messages are mentioned with every edit", (MENTIONS, "return seq > before", "return True")),
    broken("what was mentioned is never forgotten", (MENTIONS, "len(self._told) > _MOST", "not self._told")),
    broken("Git's other checkout is this one", (COMMAND, "here is None or self._another_checkout or", "here is None or")),
    broken("env changes no directory", (STARTER, '"env": ("i0v", "u", 0)', '"env": ("i0v", "uC", 0)')),
]  # fmt: skip

_OBSERVATION = [
    broken("peers are told of every namespace", (TIDINGS, "if claim.namespace not in self.shared:", "if not claim.namespace:")),
    broken("peers read the letters of others", (TIDINGS, "if sent.to is None or not", "if sent.to is None and not")),
    broken("a peer goes on over a gap", (FOLLOWING, "if not page or _gap(page, self.at):", "if not page:")),
    broken("a peer goes on from a picture of something else", (FOLLOWING, "!= self._picture:", "!= self._picture and not self._picture:")),
    broken("half a picture is gone on from", (VIEW, "if position and self._drawn is None:", "if position:")),
    broken("a view has no bound", (VIEW, ">= MAX_OBSERVED_CLAIMS", ">= 99 * MAX_OBSERVED_CLAIMS")),
    broken("what is over is shown as held", (VIEW, "(told := self._here(claim)).lease_expires_at > now", "(told := self._here(claim)).lease_expires_at")),
    broken("a view forgets directories above", (VIEW, "if here == ROOT:", "if here:")),
    broken("what has ended still covers", (VIEW, "            del here[key]\n            if not here:\n                del self._at[place]", "            pass")),
]  # fmt: skip

_LINES = [
    broken("a dead connection says nothing of the others", (LINE, "            self.close()\n            raise\n", "            raise\n")),
    broken("an answer that comes late is the next one's", (LINE, "            connection.abort()\n            self.close()\n            raise\n", "            self._idle.append(connection)\n            raise\n")),
    broken("what was given up arrives later", (LINE, "                ending.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)\n", "                pass\n")),
    broken("whoever answers at an address is believed", (LINE, "ssl=self._secured)\n        except", "ssl=__import__('ssl')._create_unverified_context())\n        except")),
]  # fmt: skip

_TRANSFERS = [
    broken("a namespace is inherited again", (TRANSFER, "if known is not None and known.term >= term:", "if known is not None and known.term > term:")),
    broken("anybody gives a namespace away", (TRANSFER, "if known is None or known.owner != giver:", "if known is None:")),
    broken("what changed hands comes back by a line in a file", (TEAM_DECIDE, "return known.term > 0 and command.term", "return known.term < 0 and command.term")),
    broken("a former owner is believed", (TEAM_DECIDE, 'not known.mine and owner in ("", known.owner)', "not known.mine")),
    broken("two owners count as one", (TEAM_DECIDE, " or known.hub_id != told.hub_id)", ")")),
    broken("who ceded grants on", (TEAM_STATE, "owner=event.owner, mine=False, term=event.term, deed=event.deed", "owner=event.owner, term=event.term, deed=event.deed")),
    broken("what waits to be handed over is forgotten", (STATE, "team=ceded(state.team, event, claims, state.epoch)", "team=ceded(state.team, event, (), state.epoch)")),
    broken("answers stay behind", (ESTATE, 'if answer.get("namespace") == namespace:', 'if answer.get("namespace") == "":')),
    broken("anybody signs a deed", (DEED, " or not proves(document, giver.key):", ":")),
    broken("an old deed counts", (DEED, "or known.owner != deed.giver or known.term >= deed.term:", "or known.owner != deed.giver:")),
    broken("nobody hears that a namespace went", (HUB, "TaskHandedOff, ClaimGranted, NamespaceCeded)", "TaskHandedOff, ClaimGranted)")),
    broken("a door that is shut stays shut", (LISTENING, "if shut and self._again is None:", "if not shut and self._again is None:")),
    broken("who leaves contests on", (DEPARTURE, "    await desk.transact(HearAssertion(namespace=body.namespace, by=hub, owns=False))\n", "")),
    broken("nobody hears that an owner gives way", (DEPARTURE, "return known.contested_by if known else ()", "return ()")),
    broken("a dead owner is not waited for", (SUCCESSION, "if until <= now:", "if now:")),
    broken("what was taken away makes a circle", (WAITING, " for conflict in refusal.conflicts if not conflict.claim.revoked)", " for conflict in refusal.conflicts)")),
]  # fmt: skip

BREAKAGES: tuple[Breakage, ...] = (
    *_SCOPES,
    *_CLAIMS,
    *_HOLDING,
    *_HUB,
    *_JOURNALS,
    *_WIRE,
    *_GUARD,
    *_SIGNATURES,
    *_TEAMS,
    *_TALKING,
    *_NAMES,
    *_WATCHERS,
    *_COMMANDS,
    *_OBSERVATION,
    *_LINES,
    *_TRANSFERS,
    *EVASIONS,
)


def named(name: str) -> Breakage:
    """The one called so."""
    (found,) = (one for one in BREAKAGES if one.name == name)
    return found
