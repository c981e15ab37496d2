// A running `simulate`: the simulator, the webhooks of --forward, the demo endpoint, and the keyboard.
import { spawn } from 'node:child_process';
import { ReadStream } from 'node:tty';
import { ConfigurationError } from '../../errors.js';
import type { SimulatorOptions } from '../simulator/settings.js';
import { type Simulator, startSimulator } from '../simulator/simulator.js';
import { hostName } from '../web/request.js';
import { banner, bannerJson, credentialsOf, credentialTable, type Key, type Simulation } from './banner.js';
import { CommandError, type Terminal } from './command.js';
import { simulatorUrl } from './control-plane.js';
import { attemptLog } from './delivery-text.js';
import type { DemoEndpoint } from './demo-endpoint.js';
import { describeFailure, type TypedNames, withTypedNames } from './failure.js';
import { type Output, outputTo, print } from './print.js';

export interface SimulationSettings {
  readonly options: SimulatorOptions & { readonly port: number };
  /** Names for the options that only the simulator checks. */
  readonly names: TypedNames;
  readonly forward?: readonly string[];
  readonly demo?: boolean;
  readonly open?: boolean;
  readonly credentials?: boolean;
  readonly json?: boolean;
}

/** Runs until `signal.stopped`; a key may call `signal.stop`. */
export async function runSimulation(
  terminal: Terminal,
  settings: SimulationSettings,
  signal: { readonly stop: () => void; readonly stopped: Promise<unknown> },
): Promise<void> {
  const { options, names, forward: forwards = [], credentials = false, json = false } = settings;
  const output = outputTo(terminal, json);
  const log = attemptLog(output);
  const service = await startSimulator({ ...options, logger: log }).catch((error) => {
    throw withTypedNames(names, error);
  });
  let demo: DemoEndpoint | undefined;
  try {
    for (const url of forwards) {
      await register(service, url).catch(nameForward);
    }
    if (settings.demo) {
      // Imported after the simulator has started, which reports a missing Express.
      const { demoEndpoint } = await import('./demo-endpoint.js');
      demo = demoEndpoint(() => service.privateKey);
      // The next port if it is free, so that the URL is the same after a restart.
      await demo.start(options.port === 0 ? 0 : options.port + 1).catch(() => demo?.start(0));
      await register(service, demo.url);
    }
    const { port } = new URL(service.baseUrl);
    const otherUrls = (options.allowHosts ?? []).map((host) => `http://${hostName(host)}:${port}`);
    const { address: defaultUrl } = simulatorUrl(undefined, terminal);
    const simulation = { service, output, otherUrls, forwards, demo, credentials, defaultUrl };
    const keys = keysOf(simulation, signal.stop);
    const endKeyboard = readKeyboard(terminal, keys);
    output.print(bannerJson(simulation), banner(simulation, endKeyboard ? keys : []));
    log.begin();
    if (settings.open) openPage(simulation);
    await signal.stopped;
    endKeyboard?.();
  } finally {
    await service.close();
    await demo?.stop();
  }
}

/** The messages of the simulator call it `url` or "this". */
export function nameForward(error: unknown): never {
  if (!ConfigurationError.is(error)) throw error;
  throw new CommandError(error.message.replace(/^(The url|This)\b/, '--forward'));
}

/** Unless it is still registered from the last run (--state). */
async function register({ webhooks }: Simulator, url: string): Promise<void> {
  const same = ({ url: registered }: { url: string }) => new URL(registered).href === new URL(url).href;
  if (!webhooks.list().some(same)) await webhooks.create({ url });
}

/** Ctrl-C and Ctrl-D: in raw mode, a terminal sends no signals. */
const QUIT = ['\u0003', '\u0004'];

/** @returns a function that stops reading; undefined without a terminal */
export function readKeyboard(
  { stdin, stdout, stderr, env }: Terminal,
  keys: readonly Key[],
): (() => void) | undefined {
  if (!(stdin instanceof ReadStream) || !stdout.isTTY) return undefined;
  const onData = (data: Buffer) => {
    for (const typed of data.toString()) {
      const letter = QUIT.includes(typed) ? 'q' : typed.toLowerCase();
      const key = keys.find((each) => each.letter === letter);
      Promise.resolve(key?.press()).catch((error) => print(stderr, describeFailure(error, env).text));
    }
  };
  stdin.setRawMode(true).on('data', onData).resume();
  return () => void stdin.off('data', onData).setRawMode(false).pause();
}

function keysOf(simulation: Simulation, quit: () => void): Key[] {
  const { service, output, demo } = simulation;
  const list = () => output.print(credentialsOf(service), credentialTable(service));
  return [
    { letter: 't', about: 'trigger transaction.paid', press: () => trigger(simulation) },
    { letter: 'r', about: 'resend the last delivery', press: () => resend(simulation) },
    ...(demo ? demoKeys(demo, output) : []),
    { letter: 'o', about: 'open the page', press: () => openPage(simulation) },
    { letter: 'c', about: 'list every key and token', press: list },
    { letter: 'q', about: 'quit', press: quit },
  ];
}

function demoKeys(demo: DemoEndpoint, output: Output): Key[] {
  const toggle = async () => {
    await (demo.running ? demo.stop() : demo.start());
    const stopped = 'The demo endpoint is stopped. The next delivery will be retried.';
    output.note(demo.running ? 'The demo endpoint is running again.' : stopped);
  };
  const handle = () => {
    demo.handleUndeclared();
    const advice = `Replay the ones it kept at ${demo.letters}`;
    output.note(`The demo endpoint now handles undeclared events. ${advice}`);
  };
  return [
    { letter: 's', about: 'stop or start the demo endpoint', press: toggle },
    { letter: 'd', about: 'let the demo endpoint handle undeclared events', press: handle },
  ];
}

async function trigger({ service, output }: Simulation): Promise<void> {
  const deliveries = await service.trigger('transaction.paid');
  if (deliveries.length > 0) return;
  output.note(
    'No webhook subscribes to transaction.paid. Register one on the page, or start with --forward.',
  );
}

export async function resend({ service, output }: Pick<Simulation, 'service' | 'output'>): Promise<void> {
  const last = service.deliveries().at(-1);
  if (last) await service.resend(last.id);
  else output.note('No deliveries yet.');
}

const OPENERS: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  darwin: ['open'],
  // Not `cmd /c start`, which needs an empty title in quotes: Node would escape them.
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

export function openPage({
  service: { dashboardUrl },
  output,
}: Pick<Simulation, 'service' | 'output'>): void {
  const [program = '', ...args] = OPENERS[process.platform] ?? ['xdg-open'];
  const failed = () => output.note(`The browser did not open. Go to ${dashboardUrl}`);
  const child = spawn(program, [...args, dashboardUrl], { stdio: 'ignore', detached: true });
  child.once('error', failed).once('exit', (code) => {
    if (code) failed();
  });
  child.unref();
}
