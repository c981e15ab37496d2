// `simulate`: runs the service on this machine until it is stopped, with options from its flags.
import { once } from 'node:events';
import { ConfigurationError, didYouMean } from '../../errors.js';
import { parseDuration } from '../../options/duration.js';
import { isSandboxKey } from '../../signature.js';
import { hostName } from '../pages/request.js';
import { isLocalHost } from '../simulator/address/host.js';
import { type RetrySchedule, scheduleNames } from '../simulator/delivery/retry-schedule.js';
import {
  CommandError,
  command,
  EXIT,
  flag,
  jsonOption,
  keyFileOption,
  type Terminal,
  text,
  UsageError,
  type Values,
} from './command.js';
import { simulatorUrl } from './control-plane.js';
import { withTypedNames } from './failure.js';
import { defined, endpointUrl, headerName, wholeNumber } from './flag-values.js';
import { keyboard } from './keyboard.js';
import { Output, print } from './print.js';
import { isSimulatorKey, KEY_VARIABLE, readKeys } from './read-input.js';

/** The flags that become options of the simulator. */
const simulatorFlags = {
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
    { alias: 'header' },
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

/** With what was typed for the options that only the simulator checks. */
async function simulatorOptions(flags: SimulatorFlags, terminal: Terminal) {
  refuseEmpty(flags);
  refuseHosts(flags);
  if (terminal.env.NODE_ENV === 'production' && !flags['allow-production']) {
    throw new CommandError(
      'NODE_ENV is "production", and the simulator is for development and tests. Unset NODE_ENV, or give --allow-production.',
    );
  }
  const { port = '4747', 'signature-header': header, state, seed, host } = flags;
  const { keys, names } = await accountKeys(flags['key-file'], terminal);
  const given = defined({
    ...{ state, seed, host },
    allowHosts: flags['allow-host'],
    allowTargets: flags['allow-target'],
    debugHeaders: flags['debug-headers'],
    allowProduction: flags['allow-production'],
    retry: retrySchedule(flags.retry),
    signatureHeader: header === undefined ? undefined : headerName('--signature-header', header),
  });
  const options = {
    ...keys,
    ...given,
    port: wholeNumber('--port', port, [0, 65_535]),
    clock: 'real' as const,
  };
  return { options, names };
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

/** A key in the environment that is not a simulator's belongs to the app, and is not used. */
async function accountKeys(file: string | undefined, terminal: Terminal) {
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

export const simulate = command({
  about:
    'Starts the service on this machine: its API, signed deliveries with retries, faults, and a page that shows every attempt. It answers this machine only, unless you give --host and --allow-host, and delivers to this machine and private networks only. Ctrl-C stops it.',
  options: {
    forward: text(
      { PLACE: '3000/hooks' },
      'Deliver every event to this URL; 3000/hooks is short for http://localhost:3000/hooks.',
      { multiple: true },
    ),
    demo: flag(
      'Also start an endpoint to deliver to. It keeps undeclared events as dead letters, with a page to replay them. In a terminal, the key s stops and starts it, and d makes it handle undeclared events.',
    ),
    credentials: flag('List every key and token, with what each shows. In a terminal, the key c lists them.'),
    open: flag('Open the page in the browser.'),
    ...simulatorFlags,
    json: jsonOption,
  },
  examples: {
    'payment-webhooks simulate --demo --open': 'a first look: the page, and an endpoint to deliver to',
    'payment-webhooks simulate --forward 3000/hooks': 'deliver to the app on port 3000',
    'payment-webhooks simulate --retry 1s,1m,1h --state simulator.json': 'own delays, kept over restarts',
    'payment-webhooks simulate --host 0.0.0.0 --allow-host simulator --forward http://app:3000/hooks':
      'in a container named simulator',
  },
  async run({ values, terminal }) {
    const { json = false, demo = false, credentials = false, forward = [] } = values;
    const targets = forward.map((place) => endpointUrl('--forward', place));
    const { options, names } = await simulatorOptions(values, terminal);
    const { Simulation } = await import('./simulation.js');
    const signal = stopSignal();
    const simulation = await Simulation.start(new Output(terminal, json), options).catch((error) => {
      signal.stop();
      throw withTypedNames(names, error);
    });
    try {
      for (const url of targets) await simulation.forwardTo(url).catch(nameForward);
      if (demo) await simulation.startDemo(options.port === 0 ? 0 : options.port + 1);
      const keys = simulation.keys(signal.stop);
      const typed = keyboard(terminal, keys);
      const { address: defaultUrl } = simulatorUrl(undefined, terminal);
      const style = { keys: typed.active ? keys : [], credentials, defaultUrl };
      simulation.announce(options.allowHosts ?? [], style);
      if (values.open) simulation.openPage();
      await signal.stopped;
      typed.end();
    } finally {
      signal.stop();
      await simulation.close();
    }
    return EXIT.ok;
  },
});

/** The simulator names the URL of a webhook `url`. */
function nameForward(error: unknown): never {
  if (!ConfigurationError.is(error)) throw error;
  throw new CommandError(error.message.replace(/^(the )?url\b/i, '--forward'));
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Resolves `stopped` at the first signal or call of `stop`; a second signal ends the process at once. */
function stopSignal() {
  const controller = new AbortController();
  const stop = () => {
    for (const signal of SIGNALS) process.off(signal, stop);
    controller.abort();
  };
  for (const signal of SIGNALS) process.on(signal, stop);
  return { stop, stopped: once(controller.signal, 'abort') };
}
