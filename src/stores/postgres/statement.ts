// A statement in SQL: prepared where that works, and asked again where that helps.
import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { PostgresReply, Queryable } from './pool.js';

export class Statement {
  readonly text: string;
  readonly name: string;

  constructor(text: string) {
    this.text = text;
    this.name = `payment_webhooks_${createHash('sha256').update(text).digest('hex').slice(0, 16)}`;
  }
}

const TRIES = 3;
/** A serialization failure, and a deadlock: Postgres undid the work because of what others did at the same time. */
const CONFLICTS: ReadonlySet<unknown> = new Set(['40001', '40P01']);
/** The statement of this name is unknown, or another one: a pooler has put another connection behind this one. */
const UNPREPARED: ReadonlySet<unknown> = new Set(['26000', '42P05']);

export class Asking {
  /** To plan a claim each time would treble what it costs the server. */
  #prepared = true;

  async query(client: Queryable, { name, text }: Statement, values: unknown[]): Promise<PostgresReply> {
    try {
      return await client.query(this.#prepared ? { name, text, values } : { text, values });
    } catch (error) {
      if (UNPREPARED.has(sqlState(error))) this.#prepared = false;
      throw error;
    }
  }

  /** Tries again what came to nothing for a reason that may be gone by then. */
  async again<Value>(work: () => Promise<Value>): Promise<Value> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await work();
      } catch (error) {
        const state = sqlState(error);
        if (attempt === TRIES || !(CONFLICTS.has(state) || UNPREPARED.has(state))) throw error;
        await pause(Math.random() * 20 * 2 ** attempt);
      }
    }
  }
}

export function sqlState(error: unknown): unknown {
  return (error as { code?: unknown } | null)?.code;
}
