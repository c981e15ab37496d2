// Chooses the service to call: the simulator on this machine, or with --live the real service.
import { AuthenticationError, ConnectionError } from '../../client/errors.js';
import { isLoopback, type ServiceClientOptions } from '../../client/options.js';
import { ServiceClient } from '../../client/service-client.js';
import { isSandboxKey, isSimulatorKey, keysIn } from '../../signature.js';
import {
  CommandError,
  EXIT,
  flag,
  jsonOption,
  keyFileOption,
  type Terminal,
  UsageError,
  type Values,
} from './command.js';
import {
  explainUnreachable,
  notASimulator,
  type SimulatorUrl,
  simulatorUrl,
  simulatorUrlOption,
} from './control-plane.js';
import { type TypedNames, withTypedNames } from './failure.js';
import { KEY_VARIABLE, keySource, readKey } from './read-input.js';

const SIMULATOR_KEY = 'pri_sim_dev';

export const serviceOptions = {
  url: simulatorUrlOption,
  live: flag('Call the service at SERVICE_API_URL, with the key of SERVICE_PRIVATE_KEY or --key-file.'),
  'key-file': keyFileOption,
  json: jsonOption,
} as const;

interface ServiceChoice extends Values<typeof serviceOptions> {
  /** Names for the options of the call in messages. */
  readonly names?: TypedNames;
}

export async function withService<Result>(
  choice: ServiceChoice,
  terminal: Terminal,
  call: (client: ServiceClient) => Promise<Result>,
): Promise<Result> {
  const { live = false, url, 'key-file': file } = choice;
  const service = live ? liveUrl(url, terminal) : simulatorUrl(url, terminal);
  const { address, source } = service;
  if (/\/api\/v2\/?$/.test(address)) {
    throw new UsageError(`${source} ends in /api/v2. Remove the path of the API.`);
  }
  const privateKey = live ? await liveKey(file, terminal) : await simulatorKey(file, terminal);
  const options = live ? { baseUrl: address } : simulatorOptions(service, privateKey);
  try {
    return await call(new ServiceClient({ ...options, privateKey }));
  } catch (error) {
    if (!live && error instanceof AuthenticationError) {
      error.message = `The simulator at ${address} has another key. Set ${KEY_VARIABLE} to the one that \`simulate\` or \`keys rotate\` printed.`;
    }
    if (!live && error instanceof ConnectionError) {
      const reason = explainUnreachable(service, error.cause);
      const message = `${reason}, or --live to call the service itself.`;
      if (reason) throw new CommandError(message, EXIT.unreachable, error.code);
    }
    const names = { baseUrl: source, privateKey: keySource(file), url: 'URL', ...choice.names };
    throw withTypedNames(names, error);
  }
}

function simulatorOptions(service: SimulatorUrl, privateKey: string): ServiceClientOptions {
  const url = URL.canParse(service.address) ? new URL(service.address) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) throw notASimulator(service);
  const apiPath = isSandboxKey(privateKey) ? '/sandbox/api/v2' : '/api/v2';
  const options = { baseUrl: service.address, apiPath, retries: 0 };
  if (url.protocol === 'https:' || isLoopback(url.hostname)) return options;
  // A simulator in a container: the client sends no key over http: to another machine, but this key is not secret.
  const local = 'http://localhost';
  const send: typeof fetch = (input, init) => fetch(String(input).replace(local, url.origin), init);
  return { ...options, baseUrl: local, fetch: send };
}

function liveUrl(typed: string | undefined, { env }: Terminal): SimulatorUrl {
  if (typed !== undefined) {
    throw new UsageError('--url is the address of a simulator. With --live, set SERVICE_API_URL instead.');
  }
  const { SERVICE_API_URL: address } = env;
  if (!address) throw new CommandError('--live needs the address of the service in SERVICE_API_URL.');
  return { address, source: 'SERVICE_API_URL' };
}

async function liveKey(file: string | undefined, terminal: Terminal): Promise<string> {
  const key = await readKey(file, terminal);
  if (!isSandboxKey(key)) return key;
  throw new CommandError(
    `${keySource(file)} is a sandbox key, which the service refuses at /api/v2. Pass the live key.`,
  );
}

/** Only a simulator key is sent to a simulator: a live key must never reach anything but the service. */
async function simulatorKey(file: string | undefined, terminal: Terminal): Promise<string> {
  if (file === undefined) {
    const [key = ''] = keysIn(terminal.env[KEY_VARIABLE] ?? '');
    return isSimulatorKey(key) ? key : SIMULATOR_KEY;
  }
  const key = await readKey(file, terminal);
  if (isSimulatorKey(key)) return key;
  throw new CommandError(
    `${keySource(file)} is not a simulator key, so it was not sent to the simulator. To call the service itself, give --live.`,
  );
}
