// What workers, senders and those who watch them have to agree upon.
export const PRIVATE_KEY = 'pri_soak';

/** Where ids are remembered, and how many processes share that. The ledger's row is the effect everywhere. */
export const STORES = { memory: 1, redis: 2, postgres: 2, transactional: 2 } as const;
export type StoreName = keyof typeof STORES;
export const storeNames = Object.keys(STORES) as readonly StoreName[];

/** Deliveries a second to each store, of all senders together. */
export const RATE = 60;
/**
 * Before the clock starts, as fast as it goes: what Node compiles for code that runs often is part of the heap, and it
 * compiles until a worker has had some ten thousand deliveries.
 */
export const WARM_UP_SECONDS = 45;
export type Order = 'warm up' | 'go' | 'rest';
export const SENDERS = ['a', 'b'] as const;
/** Of the memory store: full well before the first minute is over, so that it grows no more after it. */
export const MOST_IDS = 2_000;

/** What the handler does with an event; stands in the event as its order. */
export type Manner = 'quick' | 'slow' | 'late' | 'failing';

/** Two of these are shorter than what slow senders and late handlers take, so that all deadlines are met often. */
export const TIMES = { lease: 3_000, timeout: 1_500, bodyTimeout: 2_000, late: 4_000 } as const;

/** How a worker is, once a second. */
export interface Sample {
  readonly kind: 'sample';
  /** Bytes of the heap. */
  readonly heap: number;
  /** Whether garbage was thrown away just before. */
  readonly collected: boolean;
  /** What keeps the process alive: sockets, servers, timers, requests. */
  readonly handles: number;
  /** Milliseconds by which the event loop was late, 99th percentile of the last second. */
  readonly loopDelay: number;
  readonly inFlight: number;
  /** Rejections and exceptions that nobody handled, so far. */
  readonly unhandled: number;
}

/** What a sender has done for one store so far. */
export interface Tally {
  /** Events that were signed with the key and answered 2xx in the end; their ids are numbered through. */
  readonly made: number;
  readonly attempts: number;
  /** Whole deliveries whose connection broke, and that were sent again. */
  readonly broken: number;
  /** Answers 503 that ask for another delivery. */
  readonly putOff: number;
  /** Answers that were not to be expected, and how often they came. */
  readonly surprises: Readonly<Record<string, number>>;
}

export type PerStore<Value> = Readonly<Record<StoreName, Value>>;

export type FromSender =
  | { readonly kind: 'ready' }
  /** Milliseconds that the ordinary deliveries of the last second took. */
  | { readonly kind: 'second'; readonly latencies: PerStore<readonly number[]> }
  | { readonly kind: 'resting'; readonly tallies: PerStore<Tally> };

export type FromWorker = { readonly kind: 'ready'; readonly port: number } | Sample;
