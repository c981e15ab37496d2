// The constants and messages that workers, senders and the soak share.
export const PRIVATE_KEY = 'pri_soak';

/** The stores, and how many processes share each. The effect is a row in the ledger with all of them. */
export const STORES = { memory: 1, redis: 2, postgres: 2, transactional: 2 } as const;
export type StoreName = keyof typeof STORES;
export const storeNames = Object.keys(STORES) as readonly StoreName[];

/** Deliveries a second to each store, of all senders together. */
export const RATE = 60;
/**
 * Before the measurement, at full speed: compiled code is part of the heap, and Node compiles until a worker has had
 * about ten thousand deliveries.
 */
export const WARM_UP_SECONDS = 45;
export type Command = 'warm up' | 'go' | 'rest';
export const SENDERS = ['a', 'b'] as const;
/** Entries of the memory store: it is full long before the first minute ends, so it does not grow after that. */
export const MOST_IDS = 2_000;

/** What the handler does with an event. The event carries it as its order id. */
export type HandlerMode = 'quick' | 'slow' | 'late' | 'failing';

/** Slow senders and late handlers take longer than two of these, so that every timeout fires often. */
export const TIMES = { lease: 3_000, timeout: 1_500, bodyTimeout: 2_000, late: 4_000 } as const;

/** The state of a worker, once a second. */
export interface Sample {
  readonly kind: 'sample';
  /** Bytes of the heap. */
  readonly heap: number;
  /** Whether a garbage collection ran just before. */
  readonly collected: boolean;
  /** What keeps the process alive: sockets, servers, timers, requests. */
  readonly handles: number;
  /** Milliseconds by which the event loop was late, 99th percentile of the last second. */
  readonly loopDelay: number;
  readonly inFlight: number;
  /** Unhandled rejections and exceptions so far. */
  readonly unhandled: number;
}

/** What a sender has done for one store so far. */
export interface Totals {
  /** Events that were signed with the key and answered 2xx in the end; their ids are numbered. */
  readonly made: number;
  readonly attempts: number;
  /** Whole deliveries whose connection broke, and that were sent again. */
  readonly broken: number;
  /** Answers 503 that ask for a retry. */
  readonly retriesAsked: number;
  /** Answers that are wrong, and how many of each. */
  readonly unexpected: Readonly<Record<string, number>>;
}

export type PerStore<Value> = Readonly<Record<StoreName, Value>>;

export type FromSender =
  | { readonly kind: 'ready' }
  /** Milliseconds that the ordinary deliveries of the last second took. */
  | { readonly kind: 'second'; readonly latencies: PerStore<readonly number[]> }
  | { readonly kind: 'resting'; readonly allTotals: PerStore<Totals> };

export type FromWorker = { readonly kind: 'ready'; readonly port: number } | Sample;
