// What the campaign of dead letters is about: an app that cannot process its events, and the one that can, later.
import type { SharedMode } from '../../setup/shared-stores.js';
import type { Mode } from './merchant.js';

/** The stores of a mode. */
export function storesOf(mode: Mode): SharedMode {
  return mode === 'redis' ? 'redis' : 'postgres';
}

/** `before`: one event is undeclared, one has a schema that is too strict, and one a handler that fails. `after`: all is fixed. */
export type Phase = 'before' | 'after';

export const SCHEMA = 'campaign';

/** The event that comes to be a letter for each reason. */
export const EVENTS = {
  unknown: 'refund.made',
  invalid: 'payout.sent',
  failed: 'invoice.paid',
  /** Is processed, and then comes with other bytes. */
  conflict: 'order.moved',
} as const;

export type Reason = keyof typeof EVENTS;

export const TABLES = `CREATE SCHEMA ${SCHEMA};
  CREATE TABLE ${SCHEMA}.ledger (event_id text NOT NULL, version integer NOT NULL, worker integer NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp())`;
