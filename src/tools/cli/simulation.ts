// A running `simulate`: the simulator, its forwards, the demo endpoint, and what its keys do.
import { spawn } from 'node:child_process';
import { hostName } from '../pages/request.js';
import type { SimulatorOptions } from '../simulator/settings.js';
import { type Simulator, startSimulator } from '../simulator/simulator.js';
import { AttemptLog } from './attempt-log.js';
import { banner, bannerJson, credentialsOf, credentialTable } from './banner.js';
import type { DemoEndpoint } from './demo-endpoint.js';
import type { Key } from './keyboard.js';
import type { Output } from './print.js';

export class Simulation {
  readonly #output: Output;
  readonly #service: Simulator;
  readonly #log: AttemptLog;
  readonly #forwards: string[] = [];
  #demo: DemoEndpoint | undefined;

  private constructor(output: Output, service: Simulator, log: AttemptLog) {
    this.#output = output;
    this.#service = service;
    this.#log = log;
  }

  static async start(output: Output, options: SimulatorOptions): Promise<Simulation> {
    const log = new AttemptLog(output);
    return new Simulation(output, await startSimulator({ ...options, logger: log }), log);
  }

  async forwardTo(url: string): Promise<void> {
    await this.#register(url);
    this.#forwards.push(url);
  }

  /** @param port preferred, so that the URL stays the same after a restart */
  async startDemo(port: number): Promise<void> {
    // Imported late: it needs Express, and only the simulator says so when it is missing.
    const { DemoEndpoint } = await import('./demo-endpoint.js');
    this.#demo = new DemoEndpoint(() => this.#service.privateKey);
    await this.#demo.start(port).catch(() => this.#demo?.start(0));
    await this.#register(this.#demo.url);
  }

  /**
   * Prints the banner, and from then on each attempt.
   *
   * @param hosts at which other machines may call it
   * @param defaultUrl where the other commands look for the simulator without --url
   */
  announce(
    hosts: readonly string[],
    style: { readonly keys: readonly Key[]; readonly credentials: boolean; readonly defaultUrl: string },
  ): void {
    const { port } = new URL(this.#service.baseUrl);
    const facts = {
      service: this.#service,
      otherUrls: hosts.map((host) => `http://${hostName(host)}:${port}`),
      forwards: this.#forwards,
      demo: this.#demo,
    };
    const { paint } = this.#output;
    this.#output.print(bannerJson(facts), banner(facts, { ...style, paint }));
    this.#log.begin();
  }

  keys(quit: () => void): Key[] {
    const demo: Key[] = [
      { letter: 's', about: 'stop or start the demo endpoint', press: () => this.#toggle() },
      { letter: 'd', about: 'let the demo endpoint handle undeclared events', press: () => this.#declare() },
    ];
    return [
      { letter: 't', about: 'trigger transaction.paid', press: () => this.#trigger() },
      { letter: 'r', about: 'resend the last delivery', press: () => this.#resend() },
      ...(this.#demo ? demo : []),
      { letter: 'o', about: 'open the page', press: () => this.openPage() },
      { letter: 'c', about: 'list every key and token', press: () => this.#listCredentials() },
      { letter: 'q', about: 'quit', press: quit },
    ];
  }

  openPage(): void {
    const { dashboardUrl } = this.#service;
    openInBrowser(dashboardUrl, () => this.#output.note(`The browser did not open. Go to ${dashboardUrl}`));
  }

  async close(): Promise<void> {
    await this.#service.close();
    await this.#demo?.stop();
  }

  /** Unless it is registered since the last run. */
  async #register(url: string): Promise<void> {
    const same = ({ url: registered }: { url: string }) => new URL(registered).href === new URL(url).href;
    if (!this.#service.webhooks.list().some(same)) await this.#service.webhooks.create({ url });
  }

  async #trigger(): Promise<void> {
    const deliveries = await this.#service.trigger('transaction.paid');
    if (deliveries.length > 0) return;
    this.#output.note(
      'No webhook subscribes to transaction.paid. Register one on the page, or start with --forward.',
    );
  }

  async #resend(): Promise<void> {
    const last = this.#service.deliveries().at(-1);
    if (last) await this.#service.resend(last.id);
    else this.#output.note('There is no delivery yet. Press t to trigger an event.');
  }

  #listCredentials(): void {
    this.#output.print(credentialsOf(this.#service), credentialTable(this.#service));
  }

  #declare(): void {
    this.#demo?.handleUndeclared();
    this.#output.note(
      `The demo endpoint handles undeclared events now. Replay those that it kept: ${this.#demo?.letters}`,
    );
  }

  async #toggle(): Promise<void> {
    if (this.#demo?.running) {
      await this.#demo.stop();
      this.#output.note('The demo endpoint is stopped. The next delivery will be retried.');
    } else {
      await this.#demo?.start();
      this.#output.note('The demo endpoint is running again.');
    }
  }
}

const OPENERS: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  darwin: ['open'],
  // Not `cmd /c start`: Node would escape the quotes of the empty title that it needs.
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** @param onFailure called when no program can open it */
function openInBrowser(url: string, onFailure: () => void): void {
  const [program = '', ...args] = OPENERS[process.platform] ?? ['xdg-open'];
  const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true });
  child.once('error', onFailure);
  child.once('exit', (code) => {
    if (code) onFailure();
  });
  child.unref();
}
