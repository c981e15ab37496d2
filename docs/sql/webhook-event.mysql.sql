CREATE TABLE IF NOT EXISTS `webhook_event` (
  `key`       VARBINARY(1024) NOT NULL PRIMARY KEY, -- namespace, live or sandbox, id of the event, and the handler for writes inside once
  token       VARBINARY(40) NOT NULL,    -- who owns the claim; starts with a hyphen once it is released
  attempt     INT UNSIGNED NOT NULL,
  finished    MEDIUMBLOB NOT NULL,       -- JSON: named handlers that succeeded on an earlier attempt
  fingerprint VARBINARY(256) NOT NULL,   -- stands for the bytes that are worked on, or were
  lease_ends  DATETIME(6) NOT NULL,      -- UTC; the year 1000 once released, 9999 once completed
  forget_at   DATETIME(6) NOT NULL,      -- UTC; the last write plus the retention
  claimed_at  DATETIME(6) NOT NULL,      -- UTC
  INDEX claimed_at (claimed_at)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC;
