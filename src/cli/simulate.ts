// `simulate`: the service on this machine, until it is told to stop.
import type { RetrySchedule } from '../simulator.js';
import {
  CommandError,
  command,
  EXIT,
  jsonOption,
  keyFileOption,
  type Terminal,
  UsageError,
} from './command.js';
import { keyboard } from './keyboard.js';
import { print } from './print.js';
import { readKeys } from './private-key.js';
import { stopSignal } from './stop-signal.js';

export const simulate = command({
  about:
    'Starts the service on this machine: its API, signed deliveries with retries, faults, and a page that shows every attempt. It answers to this machine only, and delivers to this machine and private networks only. Ctrl-C ends it.',
  arguments: [],
  options: {
    forward: {
      type: 'string',
      multiple: true,
      value: 'PLACE',
      about: 'Deliver every event there: 3000/hooks is http://localhost:3000/hooks. A whole URL will do too.',
    },
    demo: {
      type: 'boolean',
      about:
        'Start an endpoint to deliver to as well. In a terminal, the key s stops it and starts it again.',
    },
    port: { type: 'string', value: 'N', about: 'Listen there instead of on 4747; 0 is any free port.' },
    retry: {
      type: 'string',
      value: 'TIMES',
      about:
        'Pauses before retries: fast (2s,5s,15s,60s), realistic (hours), off, or pauses with commas between them.',
      offer: ['fast', 'realistic', 'off'],
    },
    state: {
      type: 'string',
      value: 'FILE',
      about: 'Keep everything in this file, so that pending retries go on after a restart.',
      offer: 'file',
    },
    open: { type: 'boolean', about: 'Open the page in the browser.' },
    seed: { type: 'string', value: 'TEXT', about: 'The same ids in every run with this text.' },
    'allow-target': {
      type: 'string',
      multiple: true,
      value: 'HOST',
      about: 'Let webhooks point at this public host too.',
    },
    'debug-headers': {
      type: 'boolean',
      about: 'Add X-SIM-DELIVERY, X-SIM-ATTEMPT and X-SIM-FAULT, which the service does not send.',
    },
    'allow-production': { type: 'boolean', about: 'Start although NODE_ENV is production.' },
    'key-file': {
      ...keyFileOption,
      about: 'Take the keys of the account from this file: they begin with pri_sim_ or pri_sandbox_sim_.',
    },
    json: jsonOption,
  },
  examples: [
    ['payment-webhooks simulate --demo --open', 'look around: a page, and an endpoint to deliver to'],
    ['payment-webhooks simulate --forward 3000/hooks', 'deliver to the app on port 3000'],
    ['payment-webhooks simulate --retry 1s,1m,1h --state simulator.json', 'own pauses, kept over restarts'],
  ],
  async run({ values, terminal }) {
    const { json = false, demo = false, port: portText = '4747', forward = [] } = values;
    const port = portNumber(portText);
    const targets = forward.map(targetUrl);
    const keys = await accountKeys(values['key-file'], terminal);
    const { Simulation } = await simulationModule();
    const stopped = stopSignal();
    const simulation = await Simulation.start(terminal, json, {
      ...{ port, ...keys, clock: 'real' },
      ...given('retry', retrySchedule(values.retry)),
      ...given('state', values.state),
      ...given('seed', values.seed),
      ...given('allowTargets', values['allow-target']),
      ...given('debugHeaders', values['debug-headers']),
      ...given('allowProduction', values['allow-production']),
    });
    try {
      for (const url of targets) await simulation.forwardTo(url);
      if (demo) await simulation.startDemo(port === 0 ? 0 : port + 1);
      const keysTyped = keyboard(
        terminal,
        simulation.keys(() => stopped.stop()),
      );
      simulation.announce(keysTyped.active);
      if (values.open) simulation.openPage();
      await stopped.asked;
      keysTyped.end();
    } finally {
      stopped.end();
      await simulation.close();
    }
    return EXIT.ok;
  },
});

/** Loaded late: no help text and no completion waits for Express, or fails for want of it. */
function simulationModule() {
  return import('./simulation.js').catch((error: Error) => {
    if (!/Cannot find (module|package) 'express'/.test(error.message)) throw error;
    throw new CommandError('The simulator needs Express: npm install express');
  });
}

/** An option of the simulator, or nothing where it was not typed. */
function given<Name extends string, Value>(name: Name, value: Value | undefined): { [Key in Name]?: Value } {
  return value === undefined ? {} : ({ [name]: value } as { [Key in Name]: Value });
}

function portNumber(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw new UsageError(`--port ${JSON.stringify(text)} is no port: give a number from 0 to 65535.`);
}

function retrySchedule(text: string | undefined): RetrySchedule | undefined {
  if (text === 'fast' || text === 'realistic' || text === 'off' || text === undefined) return text;
  return text.split(',').map((pause) => pause.trim());
}

/** `3000`, `3000/hooks`, `host:3000/hooks` or a URL. */
function targetUrl(text: string): string {
  if (/^https?:\/\//i.test(text)) return text;
  const url = `http://${/^\d+(\/|$)/.test(text) ? `localhost:${text}` : text}`;
  if (URL.canParse(url)) return url;
  throw new UsageError(`--forward ${JSON.stringify(text)} is no place: give one like 3000/hooks.`);
}

/** A key of the environment that is none of a simulator is the app's real one: it is left alone. */
async function accountKeys(file: string | undefined, terminal: Terminal) {
  const { SERVICE_PRIVATE_KEY: key } = terminal.env;
  const isOurs = key !== undefined && /^pri_(sandbox_)?sim_/.test(key);
  if (file === undefined && !isOurs) {
    if (key) print(terminal.stderr, FOREIGN_KEY);
    return {};
  }
  const keys = await readKeys(file, terminal);
  const sandbox = keys.filter((each) => each.startsWith('pri_sandbox_'));
  const live = keys.filter((each) => !each.startsWith('pri_sandbox_'));
  if (sandbox.length > 1 || live.length > 1) {
    throw new CommandError('The key file holds several keys of one kind. Leave one of each.');
  }
  return { ...given('privateKey', live[0]), ...given('sandboxKey', sandbox[0]) };
}

const FOREIGN_KEY =
  'SERVICE_PRIVATE_KEY holds no key of a simulator, so it is not used. Start your app with the key below.';
