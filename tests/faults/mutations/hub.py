"""Breakages of the hub around it: its writer, its journal, its wire. Data."""

# ruff: noqa: E501 - one breakage a line

from __future__ import annotations

from tests.faults.tree import breakage as broken

CLOCK, EXPIRY, HUB, WAITING = (f"hub/synapse_hub/{name}.py" for name in ("clock", "expiry", "hub", "waiting"))
ARCHIVE, JOURNAL, MARK, RECORD, RESTART, SNAPSHOT, SQLITE = (
    f"hub/synapse_hub/journal/{name}.py"
    for name in ("archive", "journal", "mark", "record", "restart", "snapshot", "sqlite")
)
DESK, GUARD, KEY, OVERRIDES, ROUTES = (
    f"hub/synapse_hub/web/{name}.py" for name in ("desk", "guard", "key", "overrides", "claims")
)
MAIN = "hub/synapse_hub/__main__.py"
PROTOCOL = "synapse_git/protocol/body.py"

BREAKAGES = (
    broken("a lost address stays lost", (MAIN, "    elif address.recorded(state) != path:", "    elif not path:")),
    broken("a hub outlives its state", (MAIN, "    except OSError:\n        ours = False", "    except OSError:\n        ours = True")),
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
    broken("the chain is not checked", (JOURNAL, "if digest != record.hash:", "if not digest:")),
    broken("gaps are passed over", (JOURNAL, "if record.seq != seq + 1 and", "if record.seq <= seq and")),
    broken("a journal below its mark is granted from", (JOURNAL, "if state.seq < mark.seq or state.epoch < mark.epoch:", "if state.seq < 0:")),
    broken("another journal is taken for ours", (JOURNAL, "record.seq == mark.seq and digest.hex() != mark.head", "record.seq == mark.seq and not mark.head")),
    broken("without a mark it starts afresh", (JOURNAL, "found is None and existed and next", "found is None and not existed and next")),
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
    broken("an import starts from the old epochs", (RESTART, "unsure = mark is None or", "unsure = False and")),
    broken("an import goes below our epochs", (RESTART, "epoch=max([found.state.epoch, *(one.epoch for one in known)])", "epoch=found.state.epoch")),
    broken("an import makes another hub", (RESTART, 'return kept_id(directory) or (known[0].hub_id if known else "")', 'return ""')),
    broken("a backup is another hub's for ever", (RESTART, "return mark.hub_id if mark.epoch or theirs is None else theirs.hub_id", "return mark.hub_id")),
    broken("a snapshot behind a damage is passed over", ("hub/synapse_hub/journal/intact.py", "        bases = _whole(connection)\n", "        bases = []\n")),
    broken("copies that were put aside are passed over", ("hub/synapse_hub/journal/salvage.py", "if found.state.seq > best.intact.state.seq:", "if False:")),
    broken("a journal that is no database is only an error", (JOURNAL, "except Damaged as error:", "except () as error:")),
    broken("an altered export is imported", (ARCHIVE, "if trailer.sha256 != digest.hexdigest() or", "if")),
    broken("verify is always content", (ARCHIVE, "        \"ok\": not detail,", '        "ok": True,')),
    broken("a key counts for every agent on the wire", (KEY, 'sender = f"{principal(request)}/{command.agent}"', "sender = principal(request)")),
    broken("a key counts for every user on the wire", (KEY, 'sender = f"{principal(request)}/{command.agent}"', "sender = command.agent")),
    broken("the principal is what the client says", (ROUTES, "        principal=principal(request),\n", "        principal=body.agent,\n")),
    broken("dead leases are listed", (ROUTES, "    claim = state.live(key, now) or state.team.held(key, now)\n    if claim is None:", "    claim = state.claims.get(key)\n    if claim is None:")),
    broken("force needs no reason", (ROUTES, "if body.force and not reason.strip():", "if body.force and reason is None:")),
    broken("a body may be any size", (DESK, "if len(body) > MAX_BODY_BYTES:", "if len(body) > 99 * MAX_BODY_BYTES:")),
    broken("a name may be blank", (DESK, "if not text.strip() or not text.isprintable()", "if not text.isprintable()")),
    broken("a name may hold anything", (DESK, "if not text.strip() or not text.isprintable()", "if not text.strip()")),
    broken("any depth is parsed", (PROTOCOL, "            if depth > MAX_JSON_DEPTH:", "            if depth > 9_999_999:")),
    broken("whoever hung up was refused", (GUARD, "if await request.is_disconnected():", "if not request:")),
    broken("refusals leave nothing", (GUARD, 'if "synapse-overriding" in request.headers:', "if request.headers:")),
    broken("an override is a refusal as well", (GUARD, 'if "synapse-overriding" in request.headers:', "if not request.headers:")),
    broken("an override told twice is two", (OVERRIDES, "if not key:", "if key:")),
    broken("an override told late is another", (OVERRIDES, "msgspec.structs.replace(body, spooled_at=None)", "body")),
    broken("a file that a killed hub left is another override", ("hub/synapse_hub/spool.py", "of_user(os.geteuid()), key)", 'of_user(os.geteuid()), "")')),
    broken("unknown fields are passed over", (PROTOCOL, "frozen=True, forbid_unknown_fields=True, kw_only=True):\n    \"\"\"Base of all", 'frozen=True, kw_only=True):\n    """Base of all')),
)  # fmt: skip
