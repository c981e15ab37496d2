// `simulate`: runs the service on this machine until it is stopped.
import { once } from 'node:events';
import { ConfigurationError } from '../../errors.js';
import { CommandError, command, EXIT, flag, jsonOption, text } from './command.js';
import { simulatorUrl } from './control-plane.js';
import { withTypedNames } from './failure.js';
import { endpointUrl } from './flag-values.js';
import { keyboard } from './keyboard.js';
import { Output } from './print.js';
import { simulatorFlags, simulatorOptions } from './simulator-options.js';

export const simulate = command({
  about:
    'Starts the service on this machine: its API, signed deliveries with retries, faults, and a page that shows every attempt. It answers this machine only, unless you give --host and --allow-host, and delivers to this machine and private networks only. Ctrl-C stops it.',
  arguments: [],
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
