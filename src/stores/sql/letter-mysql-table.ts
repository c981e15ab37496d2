// The table of dead letters in MySQL and MariaDB.

/** @param table as MySQL quotes it */
export const mysqlLetterTable = (table: string) => `
CREATE TABLE IF NOT EXISTS ${table} (
  arrival       bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, -- the order in which letters were first kept
  id            varbinary(255) NOT NULL,  -- bytes: collations of text ignore case or trailing spaces
  \`key\`         varbinary(512) NOT NULL,  -- namespace, live or sandbox, id of the event
  fingerprint   varbinary(64) NOT NULL,   -- SHA-256 of the bytes
  namespace     varbinary(255) NOT NULL,
  event_name    varbinary(255) NOT NULL,
  event_id      varbinary(255) NOT NULL,
  sandbox       tinyint NOT NULL,
  reason        varbinary(32) NOT NULL,
  code          varbinary(64),
  attempts      int NOT NULL,
  issues        longblob NOT NULL,        -- where the payload does not fit; sealed where there are keys
  head          longblob,                 -- headers and the index of the private key; sealed where there are keys
  body          longblob,                 -- the bytes of the event; sealed where there are keys
  kept_at       datetime(3) NOT NULL,     -- UTC, like all times here
  discarded_at      datetime(3),          -- of a tombstone, which has neither head nor body
  discarded_by      text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  discarded_because text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  token         varbinary(32),            -- random: by it a call knows that it discarded the letter
  retained_from datetime(3) GENERATED ALWAYS AS (COALESCE(discarded_at, kept_at)) STORED,
  letter        tinyint GENERATED ALWAYS AS (CASE WHEN discarded_at IS NULL THEN 1 END) STORED,
  UNIQUE KEY event (\`key\`, fingerprint, letter), -- there may be many tombstones: null is not equal to null
  KEY id (id),
  KEY arrival (namespace, arrival),
  KEY retention (retained_from),
  CHECK (discarded_at IS NOT NULL OR (head IS NOT NULL AND body IS NOT NULL))
) ENGINE=InnoDB;`;
