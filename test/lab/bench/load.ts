// The load: wrk on CPU 1 with 32 connections that are kept alive, awake all the time.
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Contestant } from './contestants.js';
import { bodyOf, ID } from './events.js';
import type { Profile } from './profiles.js';
import { type Letter, messageOf, requestOf, SECRET, signatureOf } from './schemes.js';

const CONNECTIONS = 32;
const run = promisify(execFile);
const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** Where the library of {@link busyPoll} and the letters of each load are. */
const folder = mkdtempSync(join(tmpdir(), 'payment-webhooks-bench-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));

/** The library that keeps wrk awake between answers, compiled when it is first needed. */
function busyPoll(): string {
  const library = join(folder, 'busy-poll.so');
  if (!existsSync(library))
    execFileSync('cc', ['-O2', '-shared', '-fPIC', here('busy-poll.c'), '-o', library, '-ldl']);
  return library;
}

export interface Window {
  readonly requests: number;
  /** Microseconds that wrk measured. */
  readonly us: number;
  /** Answers above 399. */
  readonly refused: number;
  /** Connections and answers that failed. */
  readonly broken: number;
}

/** Delivers for a second, each time with other ids, or with one other id. */
export type Load = (port: number) => Promise<Window>;

// Across all loads, so that no process ever sees an id twice.
let lastId = 0;
const IDS_A_SECOND = 1_000_000;

type Deliveries = Pick<Profile, 'size' | 'forged' | 'repeated'>;

/** What is sent to this contestant. */
export function loadFor(contestant: Contestant, deliveries: Deliveries): Load {
  const job = mkdtempSync(join(folder, `${contestant.name}-`));
  writeJob(job, contestant, deliveries);
  return async (port) => {
    const options = `-t1 -c${CONNECTIONS} -d1s --timeout 10s -s`.split(' ');
    const to = [`http://127.0.0.1:${port}/hooks`, '--', job, String(lastId)];
    lastId += IDS_A_SECOND;
    // Awake, wrk takes a whole CPU to itself, so that the server waits for nothing.
    const env = { ...process.env, LD_PRELOAD: busyPoll() };
    const { stdout } = await run('wrk', [...options, here('deliver.lua'), ...to], { env });
    const summary = stdout.split('\n').find((line) => line.startsWith('{'));
    if (!summary) throw new Error(`wrk gave no summary:\n${stdout}`);
    return JSON.parse(summary) as Window;
  };
}

/** Written with marks in the places that change; `deliver.lua` is told where these are. */
function writeJob(job: string, contestant: Contestant, { size, forged, repeated = false }: Deliveries): void {
  const { scheme, event } = contestant;
  const letter: Letter = { id: ID, time: '1234567890', body: bodyOf(event, size) };
  const mark = signatureOf(scheme, letter);
  const request = requestOf(scheme, letter, mark);
  const message = messageOf(scheme, letter);
  writeFileSync(join(job, 'request'), request);
  writeFileSync(join(job, 'message'), message);
  const ends = (text: string) => placesOf(text, ID).map((place) => place + ID.length);
  const fields = {
    key: JSON.stringify(SECRET.SERVICE_PRIVATE_KEY),
    base64: String(scheme.encoding === 'base64'),
    forged: String(forged),
    repeated: String(repeated),
    signature: String(request.indexOf(mark)),
    request_ids: list(ends(request)),
    message_ids: list(ends(message)),
    request_times: list(placesOf(request, letter.time)),
    message_times: list(placesOf(message, letter.time)),
  };
  const assignments = Object.entries(fields).map(([name, value]) => `${name} = ${value}`);
  writeFileSync(join(job, 'job.lua'), `return { ${assignments.join(', ')} }\n`);
}

function placesOf(text: string, wanted: string): number[] {
  return [...text.matchAll(new RegExp(wanted, 'g'))].map(({ index }) => index);
}

function list(places: readonly number[]): string {
  return `{ ${places.join(', ')} }`;
}
