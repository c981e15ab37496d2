// Which service a command talks to: the simulator on this machine, or with --live the service itself.

import { ConnectionError } from '../client/errors.js';
import { ServiceClient } from '../client.js';
import { CommandError, EXIT, jsonOption, keyFileOption, type Terminal, UsageError } from './command.js';
import { readKey } from './private-key.js';
import { nobodyAt, simulatorUrl, simulatorUrlOption } from './simulator-address.js';

/** The published key of the simulator. */
const SIMULATOR_KEY = 'pri_sim_dev';

export const serviceOptions = {
  url: simulatorUrlOption,
  live: {
    type: 'boolean',
    about: 'Talk to the service at SERVICE_API_URL, with the key of SERVICE_PRIVATE_KEY or --key-file.',
  },
  'key-file': keyFileOption,
  json: jsonOption,
} as const;

export interface ServiceChoice {
  readonly url?: string;
  readonly live?: boolean;
  readonly 'key-file'?: string;
}

/** Runs a piece of work with a client of the service that was chosen. */
export async function withService<Result>(
  choice: ServiceChoice,
  terminal: Terminal,
  work: (client: ServiceClient) => Promise<Result>,
): Promise<Result> {
  if (choice.live) return work(await live(choice, terminal));
  const baseUrl = simulatorUrl(choice.url, terminal);
  const privateKey = await simulatorKey(choice['key-file'], terminal);
  const apiPath = privateKey.startsWith('pri_sandbox_') ? '/sandbox/api/v2' : '/api/v2';
  const client = new ServiceClient({ baseUrl, privateKey, apiPath, retries: 0 });
  return work(client).catch((error) => {
    const { code } = ((error as Error).cause ?? {}) as { code?: string };
    if (!(error instanceof ConnectionError) || code !== 'ECONNREFUSED') throw error;
    throw new CommandError(
      `${nobodyAt(baseUrl)}, or give --live for the service itself.`,
      EXIT.nobody,
      error.code,
    );
  });
}

async function live(choice: ServiceChoice, terminal: Terminal): Promise<ServiceClient> {
  if (choice.url !== undefined) {
    throw new UsageError('--url is the address of a simulator; with --live set SERVICE_API_URL instead.');
  }
  const baseUrl = terminal.env.SERVICE_API_URL;
  if (!baseUrl) throw new CommandError('--live needs the address of the service in SERVICE_API_URL.');
  return new ServiceClient({ baseUrl, privateKey: await readKey(choice['key-file'], terminal) });
}

/** A key in the environment is taken only when it is one of a simulator: a live key must not reach anything else. */
async function simulatorKey(file: string | undefined, terminal: Terminal): Promise<string> {
  if (file !== undefined) return readKey(file, terminal);
  const { SERVICE_PRIVATE_KEY: key = '' } = terminal.env;
  return /^pri_(sandbox_)?sim_/.test(key) ? key : SIMULATOR_KEY;
}
