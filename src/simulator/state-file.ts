// What a state file holds, and reading and writing one; a file that is not understood is left as it is.
import { readFileSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { z } from 'zod';
import { ConfigurationError } from '../errors.js';
import { faultKinds } from './fault-kinds.js';

const VERSION = 1;

const pairs = z.array(z.tuple([z.string(), z.string()]));
const fault = z.enum(faultKinds);
const instant = z.number();

const attempt = z.object({
  number: z.number(),
  trigger: z.enum(['automatic', 'manual']),
  startedAt: instant,
  durationMs: z.number(),
  succeeded: z.boolean(),
  fault: fault.nullable(),
  diagnosis: z.string().nullable(),
  url: z.string(),
  headers: pairs,
  /** Null: the event's own bytes. */
  body: z.string().nullable(),
  response: z
    .object({ status: z.number(), headers: pairs, body: z.string(), body_truncated: z.boolean() })
    .nullable(),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  nextAttemptAt: instant.nullable(),
});

const delivery = z.object({
  id: z.string(),
  /** Position in the list of events. */
  event: z.number(),
  webhookId: z.string(),
  url: z.url(),
  createdAt: instant,
  status: z.enum(['pending', 'in_flight', 'retrying', 'delivered', 'failed', 'cancelled']),
  attempts: z.array(attempt),
  nextAttemptAt: instant.nullable(),
  deliveredAt: instant.nullable(),
  cancelledBecause: z.enum(['webhook_deleted', 'webhook_paused', 'request']).optional(),
  retries: z.number(),
  plannedFault: z.object({ kind: fault, delayMs: z.number().nullable(), postponed: z.boolean() }).optional(),
});

const keys = z.object({ privateKey: z.string(), sandboxKey: z.string() });

const state = z.object({
  version: z.literal(VERSION),
  now: instant,
  drawn: z.number(),
  keys: z.object({ first: keys, current: keys }),
  webhooks: z.array(
    z.object({
      id: z.string(),
      account: z.string(),
      url: z.url(),
      events: z.array(z.string()),
      paused: z.boolean(),
      createdAt: instant,
      updatedAt: instant,
    }),
  ),
  events: z.array(z.object({ id: z.string(), name: z.string(), sandbox: z.boolean(), body: z.string() })),
  deliveries: z.array(delivery),
  faults: z.array(
    z.object({
      id: z.string(),
      kind: fault,
      event: z.string().nullable(),
      webhook: z.string().nullable(),
      times: z.union([z.number(), z.literal('always')]),
      remaining: z.union([z.number(), z.literal('always')]),
      probability: z.number(),
      delayMs: z.number().nullable(),
    }),
  ),
});

/** Everything that outlives a restart, without its version. */
export type State = Omit<z.infer<typeof state>, 'version'>;

/** @returns undefined when there is no such file yet @throws {ConfigurationError} for a file that cannot be used */
export function readState(path: string): State | undefined {
  const left = 'It was left as it is: move it away, or choose another file.';
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw new ConfigurationError(`The state file ${path} cannot be read (${codeOf(error)}). ${left}`);
  }
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    throw new ConfigurationError(`The state file ${path} is not complete JSON: it may be truncated. ${left}`);
  }
  const version: unknown = (content as { version?: unknown } | null)?.version;
  if (typeof version === 'number' && version !== VERSION) {
    throw new ConfigurationError(
      `The state file ${path} has version ${version}, and this simulator reads version ${VERSION}. ${left}`,
    );
  }
  const result = state.safeParse(content);
  if (result.success) return result.data;
  const where = result.error.issues[0]?.path.join('.') ?? '';
  throw new ConfigurationError(
    `The state file ${path} is not a simulator's: ${where || 'its content'} does not fit. ${left}`,
  );
}

/** Writes beside the file and renames: at every moment there is one whole file, the old or the new. */
export async function writeState(path: string, content: State): Promise<void> {
  const beside = `${path}.tmp`;
  // Others need not read captured answers.
  const file = await open(beside, 'w', 0o600);
  try {
    await file.writeFile(JSON.stringify({ version: VERSION, ...content }));
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(beside, path);
}

/** The code of a system error. */
export function codeOf(error: unknown): string {
  return String((error as NodeJS.ErrnoException).code ?? error);
}
