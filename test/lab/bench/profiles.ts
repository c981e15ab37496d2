// What is measured: who receives what, of which size, with a right signature or a wrong one.
import { FAST_PEERS, OURS, PEERS, REFERENCE } from './contestants.js';

export interface Profile {
  readonly name: string;
  readonly title: string;
  /** Bytes of the body. */
  readonly size: number;
  /** Each signature is that of another body. */
  readonly forged: boolean;
  /** After the first, each delivery is a duplicate: what a sender that retries makes of an endpoint. */
  readonly repeated?: boolean | undefined;
  readonly contestants: readonly string[];
}

export const KB = 1_024;
const large = [REFERENCE, OURS, 'floor-record'];
const refusing = [REFERENCE, OURS];

export const profiles: readonly Profile[] = [
  {
    name: 'accept',
    title: 'Accepting 1 KB',
    size: KB,
    forged: false,
    contestants: [
      'floor-http',
      'floor-http-zod',
      'floor-express4',
      REFERENCE,
      OURS,
      'ours-express4',
      'ours-http',
      'ours-no-store',
      'ours-logging',
      'ours-otel',
      'ours-redis',
    ],
  },
  {
    name: 'peers',
    title: 'Accepting 1 KB, next to other receivers',
    size: KB,
    forged: false,
    contestants: [REFERENCE, OURS, ...PEERS],
  },
  {
    name: 'repeat',
    title: 'Accepting the same 1 KB again and again',
    size: KB,
    forged: false,
    repeated: true,
    contestants: [REFERENCE, OURS, ...FAST_PEERS],
  },
  { name: 'accept-16k', title: 'Accepting 16 KB', size: 16 * KB, forged: false, contestants: large },
  { name: 'accept-256k', title: 'Accepting 256 KB', size: 256 * KB, forged: false, contestants: large },
  {
    name: 'reject',
    title: 'Rejecting 1 KB with a wrong signature',
    size: KB,
    forged: true,
    contestants: [...refusing, 'line', 'octokit'],
  },
  { name: 'reject-256k', title: 'Rejecting 256 KB', size: 256 * KB, forged: true, contestants: refusing },
];

/** Not a load, but deliveries that wait. */
export const MEMORY = 'memory';

/** Every name that `--profile` takes. */
export const PROFILES: readonly string[] = [...profiles.map(({ name }) => name), MEMORY];
