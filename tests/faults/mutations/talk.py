"""Breakages of messages, notes and names. Data."""

# ruff: noqa: E501 - one breakage a line

from __future__ import annotations

from tests.faults.tree import breakage as broken

BOARD, MAIL, MESSAGES, NAMED, NAMES, NOTES, NOTICES, RECENT = (
    f"hub/synapse_hub/core/{name}.py"
    for name in ("board", "mail", "messages", "binding", "names", "notes", "notices", "recent")
)
SNAPSHOT = "hub/synapse_hub/journal/snapshot.py"
DESK, TALK = (f"hub/synapse_hub/web/{name}.py" for name in ("desk", "messages"))
ROSTER = "hub/synapse_hub/web/session/roster.py"

BREAKAGES = (
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
    broken("everything is delivered", (MESSAGES, '"delivered": command.reached,', '"delivered": True,')),
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
    broken("whoever was refused is told twice", (NOTICES, 'if holder.owner not in (agent, ""):', 'if holder.owner not in ("",):')),
    broken("each task has all that is held", (NOTICES, "if any(overlap(compared, one) for one in scope)]", "if scope]")),
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
)  # fmt: skip
