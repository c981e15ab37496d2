// Turns the flags of `simulate` into the options of the simulator, and names the flags in every error.
import { didYouMean } from '../../errors.js';
import { parseDuration } from '../../options/duration.js';
import { isSandboxKey } from '../../signature.js';
import { hostName } from '../pages/allowed-host.js';
import { isLocalHost } from '../simulator/address/host.js';
import { type RetrySchedule, scheduleNames } from '../simulator/delivery/retry-schedule.js';
import type { SimulatorOptions } from '../simulator/settings.js';
import {
  CommandError,
  flag,
  keyFileOption,
  type Terminal,
  text,
  UsageError,
  type Values,
} from './command.js';
import type { TypedNames } from './failure.js';
import { headerName, wholeNumber } from './flag-values.js';
import { print } from './print.js';
import { isSimulatorKey, KEY_VARIABLE, readKeys } from './read-input.js';

/** The flags that become options of the simulator. */
export const simulatorFlags = {
  port: text({ N: '4747' }, 'Listen on this port; 0 is any free port. Default: 4747.'),
  host: text(
    { ADDRESS: '0.0.0.0' },
    'Listen on this address. Default: 127.0.0.1. One that other machines can reach, such as 0.0.0.0 in a container, needs --allow-host.',
  ),
  'allow-host': text(
    { HOST: 'simulator' },
    'Also answer requests to this host name or address, such as the name of the container.',
    { multiple: true },
  ),
  retry: text(
    { TIMES: '1s,5m' },
    'Delays before retries: fast (2s,5s,15s,60s), realistic (hours), off, or delays separated by commas. Default: fast.',
    { offer: scheduleNames },
  ),
  state: text(
    { FILE: 'simulator.json' },
    'Keep everything in this file, so that pending retries continue after a restart.',
    { offer: 'file' },
  ),
  seed: text({ TEXT: 'demo' }, 'Use the same ids in every run with this text.'),
  'allow-target': text({ HOST: 'shop.example' }, 'Also deliver to this public host.', { multiple: true }),
  'signature-header': text(
    { NAME: 'X-Signature' },
    'Name of the header with the signature, as in the option signatureHeader of the app. Default: X-SERVICE-SIGNATURE.',
  ),
  'debug-headers': flag(
    'Add X-SIM-DELIVERY, X-SIM-ATTEMPT and X-SIM-FAULT, which the service does not send.',
  ),
  'allow-production': flag('Start although NODE_ENV is production.'),
  'key-file': {
    ...keyFileOption,
    about: 'Read the keys of the account from this file: they begin with pri_sim_ or pri_sandbox_sim_.',
  },
} as const;

type SimulatorFlags = Values<typeof simulatorFlags>;

export interface TypedOptions {
  readonly options: SimulatorOptions & { readonly port: number };
  /** What was typed for the options that only the simulator checks. */
  readonly names: TypedNames;
}

export async function simulatorOptions(flags: SimulatorFlags, terminal: Terminal): Promise<TypedOptions> {
  refuseEmpty(flags);
  refuseHosts(flags);
  if (terminal.env.NODE_ENV === 'production' && !flags['allow-production']) {
    throw new CommandError(
      'NODE_ENV is "production", and the simulator is for development and tests. Unset NODE_ENV, or give --allow-production.',
    );
  }
  const { port = '4747', state, seed, host, 'allow-host': allowHosts, 'allow-target': allowTargets } = flags;
  const { 'debug-headers': debugHeaders, 'allow-production': allowProduction } = flags;
  const { keys, names } = await accountKeys(flags['key-file'], terminal);
  const options = {
    ...keys,
    ...defined({ state, seed, host, allowHosts, allowTargets, debugHeaders, allowProduction }),
    ...defined({ retry: retrySchedule(flags.retry), signatureHeader: signatureHeader(flags) }),
    port: wholeNumber('--port', port, [0, 65_535]),
    clock: 'real' as const,
  };
  return { options, names };
}

/** Without the fields that are undefined. */
function defined<Fields extends object>(fields: Fields) {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as { [Name in keyof Fields]?: NonNullable<Fields[Name]> };
}

function signatureHeader({ 'signature-header': name }: SimulatorFlags): string | undefined {
  return name === undefined ? undefined : headerName('--signature-header', name);
}

function refuseEmpty(flags: SimulatorFlags): void {
  for (const name of ['state', 'seed', 'host', 'allow-target'] as const) {
    const values = [flags[name] ?? []].flat();
    if (values.some((value) => value.trim() === '')) throw new UsageError(`--${name} is empty.`);
  }
}

function refuseHosts({ host = '127.0.0.1', 'allow-host': hosts = [] }: SimulatorFlags): void {
  const wrong = hosts.find((each) => hostName(each) === undefined);
  if (wrong !== undefined) {
    throw new UsageError(
      `--allow-host ${JSON.stringify(wrong)} is not a host. Give a name or address without a port, such as simulator.`,
    );
  }
  if (hosts.length > 0 || isLocalHost(host)) return;
  throw new UsageError(
    `--host ${JSON.stringify(host)} lets other machines reach the simulator, which would refuse them. Name the hosts at which they call it, such as --allow-host simulator.`,
  );
}

function retrySchedule(text: string | undefined): RetrySchedule | undefined {
  const named = scheduleNames.find((name) => name === text);
  if (named !== undefined || text === undefined) return named;
  const delays = text.split(',').map((delay) => delay.trim());
  const wrong = delays.find((delay) => parseDuration(delay) === undefined);
  if (wrong === undefined) return delays;
  const part = delays.length > 1 ? `: ${JSON.stringify(wrong)} is not a duration` : '';
  throw new UsageError(
    `--retry ${JSON.stringify(text)} is not a schedule${part}. Give ${scheduleNames.join(', ')}, or delays like 1s,5m.` +
      didYouMean(text, scheduleNames),
  );
}

interface AccountKeys {
  readonly keys: Pick<SimulatorOptions, 'privateKey' | 'sandboxKey'>;
  readonly names: TypedNames;
}

/** A key in the environment that is not a simulator's belongs to the app, and is not used. */
async function accountKeys(file: string | undefined, terminal: Terminal): Promise<AccountKeys> {
  const key = terminal.env[KEY_VARIABLE] ?? '';
  if (file === undefined && !isSimulatorKey(key)) {
    if (key) print(terminal.stderr, FOREIGN_KEY);
    return { keys: {}, names: {} };
  }
  const all = await readKeys(file, terminal);
  const sandbox = all.filter(isSandboxKey);
  const live = all.filter((each) => !isSandboxKey(each));
  if (sandbox.length > 1 || live.length > 1) {
    throw new CommandError('--key-file holds several keys of one kind. Keep one of each.');
  }
  const name = (kind: string) => (file === undefined ? KEY_VARIABLE : `The ${kind} key in --key-file`);
  return {
    keys: defined({ privateKey: live[0], sandboxKey: sandbox[0] }),
    names: { privateKey: name('live'), sandboxKey: name('sandbox') },
  };
}

const FOREIGN_KEY =
  'SERVICE_PRIVATE_KEY does not hold a simulator key, so the simulator does not use it. Start your app with the key below.';
