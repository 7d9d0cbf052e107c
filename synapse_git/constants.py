"""The numbers that are part of the contract, each in one place.

Imports nothing, so that hooks can use it. ``docs/reference/constants.md`` lists them and a test compares.
"""

# Leases, in seconds. Spec: INV-LL-3
MINIMUM_TTL_SECONDS = 30.0
MAXIMUM_TTL_SECONDS = 2_592_000.0
DEFAULT_TTL_SECONDS = 3600.0
# Activity writes an event only when less than this share of the lease is left.
EXTEND_BELOW_SHARE = 0.75

# Scopes. Spec: INV-ME-2, INV-ME-5
DEFAULT_WORKTREE = ""
MAX_DECLARED_PATHS = 512
MAX_PATH_BYTES = 4096
MAX_CLAIMS_PER_AGENT = 128
MAX_NAME_BYTES = 256
MAX_NOTE_BYTES = 4096

# Messages: the size of one, and how many are kept for how long. Spec: INV-DG-3, INV-RR-2
HUB_AGENT = "synapse-git"
MAX_MESSAGE_BYTES = 16_384
MAX_RETAINED_CHAT = 500
CHAT_RETENTION_SECONDS = 86_400.0
MAX_LETTERS = 4096
MAX_MAILBOX_LETTERS = 256
LETTER_RETENTION_SECONDS = 2_592_000.0
MAX_NOTICES = 4096
MAX_MAILBOX_NOTICES = 64
# A conflict between the same two over the same task is told its holder once within this time.
NOTICE_COALESCE_SECONDS = 600.0
MAX_REMEMBERED_NOTICES = 4096
MAX_REMEMBERED_READERS = 10_000
MAX_LISTED_MESSAGES = 200

# The blackboard: notes kept for a task, for an agent and in all, for how long; resources on offer at a time.
MAX_TASK_NOTES = 100
MAX_AGENT_NOTES = 200
MAX_NOTES = 1000
NOTE_RETENTION_SECONDS = 2_592_000.0
MAX_RESOURCES = 500

# Names, signatures, resources, in seconds. Spec: INV-CK-2
DEFAULT_MESSAGE_AUTH_WINDOW_SECONDS = 10.0
DEFAULT_MESSAGE_AUTH_FUTURE_SKEW_SECONDS = 1.0
# Signed requests within that window that are told apart; more are refused.
MAX_REMEMBERED_NONCES = 100_000
DEFAULT_LEASE_OFFLINE_TTL = 3600.0
DEFAULT_RESOURCE_TTL_SECONDS = 300.0

# Wire.
WIRE_PROTOCOL_VERSION = 2
NAME_OWNED_CLOSE_CODE = 4016
IDENTITY_CLOSE_CODE = 4013
MAX_BODY_BYTES = 1_048_576
MAX_JSON_DEPTH = 32
MAX_HEADER_BYTES = 65_536
RECEIVE_DEADLINE_SECONDS = 2.0

# Names bound to sessions, and keys pinned to names: how many; a pin that nobody used for so long may make room.
MAX_BOUND_NAMES = 10_000
MAX_PINNED_KEYS = 10_000
KEY_RETENTION_SECONDS = 7_776_000.0
MIN_SECRET_CHARACTERS = 32
MAX_SECRET_CHARACTERS = 256

# Open sessions: how many, the size of what one sends, how fast it may talk, how long it may leave unread what it is
# sent, and how long a silent one is waited for before and after it is asked for a sign of life.
MAX_SESSIONS = 1000
MAX_FRAME_BYTES = 131_072
FRAMES_PER_SECOND = 50.0
SESSION_SEND_SECONDS = 10.0
SESSION_PING_SECONDS = 20.0
SESSION_PONG_SECONDS = 10.0

# Idempotency keys. Spec: INV-CR-1
IDEMPOTENCY_RETENTION_SECONDS = 86_400.0
MAX_IDEMPOTENCY_KEYS = 100_000

# Denial evidence: one event per agent, claim and paths within this time; how many are remembered.
DENIAL_COALESCE_SECONDS = 60.0
MAX_REMEMBERED_DENIALS = 4096
# Conflicting paths and holders that one answer names.
MAX_NAMED_CONFLICTS = 10

# Edits as agents' tools tell of them, in seconds: how long one that is about to be made, one that was made, and the
# presence of its author in a worktree are remembered, and how far a watcher's and a tool's clock may lie apart.
EDIT_INTENT_SECONDS = 60.0
EDIT_MEMORY_SECONDS = 120.0
PRESENCE_SECONDS = 3600.0
QUIET_HOLDER_SECONDS = 60.0
EDIT_SLACK_SECONDS = 5.0
MAX_REMEMBERED_EDITS = 20_000
# Edits in others' scopes that `status` shows, for how long.
MAX_SHOWN_FOREIGN_EDITS = 100
FOREIGN_EDIT_SHOWN_SECONDS = 86_400.0

# Checkpoints: the size of one, and how many outlive their claims for how long.
MAX_CHECKPOINT_BYTES = 65_536
MAX_RETAINED_CHECKPOINTS = 4096
CHECKPOINT_RETENTION_SECONDS = 2_592_000.0
# Names whose principal is remembered, so that a handoff is charged to its recipient.
MAX_REMEMBERED_NAMES = 10_000

# Waiting for a claim: how long at most, and how many at once.
MAX_WAIT_SECONDS = 3600.0
MAX_WAITERS = 1000

# Claims taken by an edit: how long one lasts without another edit, how many files directly in one directory become that
# directory, and how many claims of a principal's quota are left to those made by name.
AUTOMATIC_TTL_SECONDS = 1800.0
COARSEN_ABOVE = 32
RESERVED_FOR_NAMED_CLAIMS = 16

# Teams. A receipt of another hub's grant covers changes for so long, counted from before it was asked for.
RECEIPT_VALIDITY_SECONDS = 60.0
RECEIPT_REFRESH_SECONDS = 20.0
# How much of a lease two clocks may lose against each other.
CLOCK_DRIFT_SHARE = 0.002
# What was taken away is given to others once its holder's hub knows, or after so long.
REVOCATION_SECONDS = 62.0
# An unanswered request cannot reach the owner any more after so long: its signature has run out.
FORWARD_DOUBT_SECONDS = 15.0
MAX_FORWARDS_UNDER_WAY = 10_000
# How long an owner may take: for a claim, and for a verdict that a hook waits for.
OWNER_DEADLINE_SECONDS = 5.0
OWNER_VERDICT_DEADLINE_SECONDS = 1.5
# What owners are yet to be told of overrides and foreign edits.
MAX_OWED_REPORTS = 1000
# For each part of what is held in a namespace that moves.
TRANSFER_DEADLINE_SECONDS = 20.0
# How far above all epochs it knows a hub begins that takes over from one it cannot ask any more.
SUCCESSION_EPOCH_MARGIN = 1_000_000
MAX_CLAIMS_PER_PEER = 1024
JOIN_TOKEN_SECONDS = 600.0
# Peers' journals: how often a stream without news shows a sign of life, after how much silence it is given up, how long
# at most until the next attempt, and how many claims of one peer are remembered.
OBSERVATION_IDLE_SECONDS = 15.0
OBSERVATION_SILENCE_SECONDS = 40.0
OBSERVATION_RETRY_SECONDS = 30.0
MAX_OBSERVED_CLAIMS = 200_000

# How long a client waits, in seconds.
HOOK_DEADLINE_SECONDS = 2.0
HOOK_START_DEADLINE_SECONDS = 5.0
CLIENT_DEADLINE_SECONDS = 10.0
# A longer socket path does not fit into sockaddr_un everywhere (macOS: 104 with its NUL).
MAX_SOCKET_PATH_BYTES = 103
