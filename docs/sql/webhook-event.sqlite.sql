CREATE TABLE IF NOT EXISTS "webhook_event" (
  key         TEXT NOT NULL PRIMARY KEY, -- namespace, live or sandbox, id of the event, and the handler for writes inside once
  token       TEXT,                      -- who owns the claim; null once it is released
  attempt     INTEGER NOT NULL,
  finished    TEXT NOT NULL,             -- JSON: named handlers that succeeded on an earlier attempt
  fingerprint TEXT NOT NULL,             -- stands for the bytes that are worked on, or were
  lease_ends  INTEGER NOT NULL,          -- milliseconds since 1970; 0 once released, 9e15 once completed
  forget_at   INTEGER NOT NULL,          -- the last write plus the retention
  claimed_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- Not on forget_at: each write changes that, and would then have to touch every index.
CREATE INDEX IF NOT EXISTS "webhook_event_claimed_at_idx" ON "webhook_event" (claimed_at);
