-- Two processes that start at once would both find no table, and one would fail to create it.
SELECT pg_advisory_xact_lock(hashtextextended('payment-webhooks', 0));
CREATE TABLE IF NOT EXISTS "webhook_event" (
  key         text COLLATE "C" PRIMARY KEY, -- namespace, live or sandbox, id of the event, and the handler for writes inside once
  token       uuid,                         -- who owns the claim; null once it is released
  attempt     integer NOT NULL,
  finished    text NOT NULL,                -- JSON: named handlers that succeeded on an earlier attempt
  fingerprint text NOT NULL,                -- stands for the bytes that are worked on, or were
  lease_ends  timestamptz NOT NULL,         -- -infinity once released, infinity once completed
  forget_at   timestamptz NOT NULL,         -- the last write plus the retention
  claimed_at  timestamptz NOT NULL DEFAULT statement_timestamp()
);
-- Not on forget_at: each write changes that, and would then have to touch every index.
CREATE INDEX IF NOT EXISTS "webhook_event_claimed_at_idx" ON "webhook_event" (claimed_at);
