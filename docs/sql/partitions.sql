-- Partitions for the table of postgresStore(): run it after migrate() and before the first delivery.
ALTER TABLE webhook_event RENAME TO webhook_event_shape;
CREATE TABLE webhook_event (LIKE webhook_event_shape INCLUDING DEFAULTS, PRIMARY KEY (key)) PARTITION BY HASH (key);
DO $$ BEGIN
  FOR part IN 0..15 LOOP
    EXECUTE format('CREATE TABLE webhook_event_%s PARTITION OF webhook_event
      FOR VALUES WITH (MODULUS 16, REMAINDER %s)', part, part);
  END LOOP;
END $$;
DROP TABLE webhook_event_shape;
CREATE INDEX webhook_event_claimed_at_idx ON webhook_event (claimed_at);
