// The constants and messages that the serial campaign and its workers share.

/** Where the claims and turns are. */
export type SerialMode = 'redis' | 'postgres';

/**
 * - `same`: serial handlers, with few values
 * - `distinct`: serial handlers, each event with a value of its own
 * - `plain`: the same handler without `serial`
 */
export type Kind = 'same' | 'distinct' | 'plain';

export const PROCESSES = 8;
export const VALUES = 100;

/** Tells a worker to deliver its share of some events. */
export interface Load {
  readonly kind: Kind;
  /** The number of the first event. */
  readonly first: number;
  /** Of all workers together. */
  readonly events: number;
  /** How many each worker delivers at a time. */
  readonly concurrency: number;
  readonly handlerMs: number;
}

/** What a worker says when its share is delivered. */
export interface Share {
  /** Handlers that ran. */
  readonly runs: number;
  /** Handlers that began while another one with the same value had not ended, in any process. */
  readonly overlaps: number;
  /** Answers other than 200; each is delivered again. */
  readonly refused: number;
  /** CPU time of the process. */
  readonly cpuMs: number;
}
