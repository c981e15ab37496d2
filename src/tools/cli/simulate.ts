// `simulate`: runs the service on this machine until it is stopped.
import { once } from 'node:events';
import { didYouMean } from '../../misuse.js';
import { isSandboxKey, isSimulatorKey, keysIn } from '../../signature.js';
import { parseDuration } from '../../time.js';
import { isLocalHost } from '../simulator/address/host.js';
import { type RetrySchedule, scheduleNames } from '../simulator/delivery/retry-schedule.js';
import { hostName } from '../web/request.js';
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
} from './command.js';
import { defined, endpointUrl, headerOption, notEmpty, ValueError, wholeNumber } from './flag-values.js';
import { print } from './print.js';
import { KEY_VARIABLE, readKeys } from './read-input.js';

export const portOption = text({ N: '4747' }, 'Listen on this port; 0 is any free port. Default: 4747.', {
  read: wholeNumber(0, 65_535),
});

const options = {
  forward: text(
    { PLACE: '3000/hooks' },
    'Deliver every event to this URL; 3000/hooks is short for http://localhost:3000/hooks.',
    { multiple: true, read: endpointUrl },
  ),
  demo: flag(
    'Also start an endpoint to deliver to. It keeps undeclared events as dead letters, with a page to replay them. In a terminal, press s to stop or start it, and d to make it handle undeclared events.',
  ),
  credentials: flag('List every key and token, with what each is for. In a terminal, press c to list them.'),
  open: flag('Open the page in the browser.'),
  port: portOption,
  host: text(
    { ADDRESS: '0.0.0.0' },
    'Listen on this address. Default: 127.0.0.1. One that other machines can reach, such as 0.0.0.0 in a container, needs --allow-host.',
    { read: notEmpty },
  ),
  'allow-host': text(
    { HOST: 'simulator' },
    'Also answer requests to this host name or address, such as the name of the container.',
    { multiple: true, read: allowedHost },
  ),
  retry: text(
    { TIMES: '1s,5m' },
    'Delays before retries: fast (2s,5s,15s,60s), realistic (hours), off, or delays separated by commas. Default: fast.',
    { read: retrySchedule },
  ),
  state: text(
    { FILE: 'simulator.json' },
    'Keep everything in this file, so that pending retries continue after a restart.',
    { read: notEmpty },
  ),
  seed: text({ TEXT: 'demo' }, 'Use the same ids in every run with this text.', { read: notEmpty }),
  'allow-target': text({ HOST: 'shop.example' }, 'Also deliver to this public host.', {
    multiple: true,
    read: notEmpty,
  }),
  'signature-header': headerOption(
    'header',
    ', as in the option signatureHeader of the app. Default: X-SERVICE-SIGNATURE.',
  ),
  'debug-headers': flag(
    'Add X-SIM-DELIVERY, X-SIM-ATTEMPT and X-SIM-FAULT, which the service does not send.',
  ),
  'allow-production': flag('Start even if NODE_ENV is production.'),
  'key-file': {
    ...keyFileOption,
    about: 'Read the keys of the account from this file: they begin with pri_sim_ or pri_sandbox_sim_.',
  },
  json: jsonOption,
} as const;

export const simulate = command({
  about:
    'Starts the service on this machine: its API, signed deliveries with retries, faults, and a page that shows every attempt. It answers this machine only, unless you give --host and --allow-host, and delivers to this machine and private networks only. Ctrl-C stops it.',
  options,
  examples: {
    'payment-webhooks simulate --demo --open': 'a first look: the page, and an endpoint to deliver to',
    'payment-webhooks simulate --forward 3000/hooks': 'deliver to the app on port 3000',
    'payment-webhooks simulate --retry 1s,1m,1h --state simulator.json':
      'your own delays, kept across restarts',
    'payment-webhooks simulate --host 0.0.0.0 --allow-host simulator --forward http://app:3000/hooks':
      'in a container named simulator',
  },
  async run({ values, terminal }) {
    const { port = 4747, host, retry, state, seed } = values;
    const allowHosts = values['allow-host'];
    if (!allowHosts && !isLocalHost(host ?? '127.0.0.1')) {
      throw new UsageError(
        `--host ${JSON.stringify(host)} lets other machines reach the simulator, which would refuse them. Name the hosts at which they call it, such as --allow-host simulator.`,
      );
    }
    if (terminal.env.NODE_ENV === 'production' && !values['allow-production']) {
      throw new CommandError(
        'NODE_ENV is "production", and the simulator is for development and tests. Unset NODE_ENV, or give --allow-production.',
      );
    }
    const { keys, names } = await accountKeys(values['key-file'], terminal);
    const given = defined({
      ...{ host, allowHosts, retry, state, seed },
      allowTargets: values['allow-target'],
      debugHeaders: values['debug-headers'],
      allowProduction: values['allow-production'],
      signatureHeader: values['signature-header'],
    });
    const options = { ...keys, ...given, port, clock: 'real' } as const;
    const { runSimulation } = await import('./simulation.js');
    const signal = stopSignal();
    await runSimulation(terminal, { ...values, options, names }, signal).finally(signal.stop);
    return EXIT.ok;
  },
});

export function allowedHost(name: string, text: string): string {
  if (hostName(text) !== undefined) return text;
  const advice = 'Pass a name or address without a port, such as simulator.';
  throw new ValueError(name, text, `is not a host. ${advice}`);
}

function retrySchedule(name: string, text: string): RetrySchedule {
  const named = scheduleNames.find((known) => known === text);
  if (named !== undefined) return named;
  const delays = text.split(',').map((delay) => delay.trim());
  const wrong = delays.find((delay) => parseDuration(delay) === undefined);
  if (wrong === undefined) return delays;
  const part = delays.length > 1 ? `: ${JSON.stringify(wrong)} is not a duration` : '';
  const hint = `Pass ${scheduleNames.join(', ')}, or delays like 1s,5m.${didYouMean(text, scheduleNames)}`;
  throw new ValueError(name, text, `is not a schedule${part}. ${hint}`);
}

/** Ignores a key in the environment that is not a simulator key: it is the app's. */
async function accountKeys(file: string | undefined, terminal: Terminal) {
  const key = terminal.env[KEY_VARIABLE] ?? '';
  if (file === undefined && !keysIn(key).every(isSimulatorKey)) {
    const problem = `${KEY_VARIABLE} does not hold a simulator key, so the simulator does not use it.`;
    if (key) print(terminal.stderr, `${problem} Start your app with the key below.`);
    return { keys: {}, names: {} };
  }
  const all = await readKeys(file, terminal);
  const [sandboxKey, ...otherSandbox] = all.filter(isSandboxKey);
  const [privateKey, ...otherLive] = all.filter((each) => !isSandboxKey(each));
  if (otherSandbox.length > 0 || otherLive.length > 0) {
    throw new CommandError(
      `${file === undefined ? KEY_VARIABLE : '--key-file'} holds several keys of one kind. Keep one of each.`,
    );
  }
  const name = (kind: string) => (file === undefined ? KEY_VARIABLE : `The ${kind} key in --key-file`);
  return {
    keys: defined({ privateKey, sandboxKey }),
    names: { privateKey: name('live'), sandboxKey: name('sandbox') },
  };
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Resolves `stopped` at the first signal or call of `stop`; a second signal ends the process at once. */
export function stopSignal() {
  const controller = new AbortController();
  const stop = () => {
    for (const signal of SIGNALS) process.off(signal, stop);
    controller.abort();
  };
  for (const signal of SIGNALS) process.on(signal, stop);
  return { stop, stopped: once(controller.signal, 'abort') };
}
