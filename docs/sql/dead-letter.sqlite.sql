CREATE TABLE IF NOT EXISTS "dead_letter" (
  arrival     INTEGER PRIMARY KEY AUTOINCREMENT, -- the order in which letters were first kept
  id          TEXT NOT NULL,
  key         TEXT NOT NULL,    -- namespace, live or sandbox, id of the event
  fingerprint TEXT NOT NULL,    -- SHA-256 of the bytes
  namespace   TEXT NOT NULL,
  event_name  TEXT NOT NULL,
  event_id    TEXT NOT NULL,
  sandbox     INTEGER NOT NULL,
  reason      TEXT NOT NULL,
  code        TEXT,
  attempts    INTEGER NOT NULL,
  issues      BLOB NOT NULL,    -- where the payload does not fit; sealed where there are keys
  head        BLOB,             -- headers and the index of the private key; sealed where there are keys
  body        BLOB,             -- the bytes of the event; sealed where there are keys
  kept_at     INTEGER NOT NULL DEFAULT (CAST(ROUND(unixepoch('subsec') * 1000) AS INTEGER)), -- in milliseconds since 1970
  discarded_at      INTEGER,    -- of a tombstone, which has neither head nor body
  discarded_by      TEXT,
  discarded_because TEXT
) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS "dead_letter_id_idx" ON "dead_letter" (id);
CREATE UNIQUE INDEX IF NOT EXISTS "dead_letter_event_idx" ON "dead_letter" (key, fingerprint) WHERE discarded_at IS NULL;
CREATE INDEX IF NOT EXISTS "dead_letter_arrival_idx" ON "dead_letter" (namespace, arrival);
CREATE INDEX IF NOT EXISTS "dead_letter_retention_idx" ON "dead_letter" (COALESCE(discarded_at, kept_at));
