// A running `simulate`: the simulator, what was asked for around it, and what it says.
import { type Simulator, type SimulatorOptions, startSimulator } from '../simulator.js';
import { AttemptLog } from './attempt-log.js';
import type { Terminal } from './command.js';
import { DemoEndpoint } from './demo-endpoint.js';
import type { Key } from './keyboard.js';
import { openInBrowser } from './open-in-browser.js';
import { announcement, type Facts } from './opening-lines.js';
import { painter, print, printable } from './print.js';

interface Started {
  readonly service: Simulator;
  readonly log: AttemptLog;
}

export class Simulation {
  readonly #terminal: Terminal;
  readonly #json: boolean;
  readonly #service: Simulator;
  readonly #log: AttemptLog;
  readonly #forwards: string[] = [];
  #demo: DemoEndpoint | undefined;

  private constructor(terminal: Terminal, json: boolean, { service, log }: Started) {
    this.#terminal = terminal;
    this.#json = json;
    this.#service = service;
    this.#log = log;
  }

  static async start(terminal: Terminal, json: boolean, options: SimulatorOptions): Promise<Simulation> {
    const log = new AttemptLog(terminal, json);
    const service = await startSimulator({ ...options, logger: log });
    return new Simulation(terminal, json, { service, log });
  }

  /** Registers the URL, unless it is there from the last time. */
  async forwardTo(url: string): Promise<void> {
    const same = ({ url: registered }: { url: string }) => new URL(registered).href === new URL(url).href;
    if (!this.#service.webhooks.list().some(same)) await this.#service.webhooks.create({ url });
    this.#forwards.push(url);
  }

  /** @param port preferred, so that the URL is the same after a restart */
  async startDemo(port: number): Promise<void> {
    this.#demo = new DemoEndpoint(() => this.#service.privateKey);
    await this.#demo.start(port).catch(() => this.#demo?.start(0));
    await this.forwardTo(this.#demo.url);
    this.#forwards.pop();
  }

  announce(hasKeys: boolean): void {
    const { baseUrl, dashboardUrl, privateKey, sandboxKey } = this.#service;
    const facts: Facts = {
      ...{ baseUrl, dashboardUrl, privateKey, sandboxKey, forwards: this.#forwards },
      demo: this.#demo?.url,
    };
    const { stdout, env } = this.#terminal;
    const keys = hasKeys ? this.keys(() => {}) : [];
    print(stdout, announcement(facts, { json: this.#json, keys, paint: painter(stdout, env) }));
    this.#log.begin();
  }

  /** What a person can type. */
  keys(quit: () => void): Key[] {
    const demo: Key = { letter: 's', about: 'stop or start the demo endpoint', press: () => this.#toggle() };
    return [
      { letter: 't', about: 'trigger transaction.paid', press: () => this.#trigger() },
      { letter: 'r', about: 'resend the last delivery', press: () => this.#resend() },
      ...(this.#demo ? [demo] : []),
      { letter: 'o', about: 'open the page', press: () => this.openPage() },
      { letter: 'q', about: 'quit', press: quit },
    ];
  }

  openPage(): void {
    const { dashboardUrl } = this.#service;
    openInBrowser(dashboardUrl, () => this.#note(`No browser could be opened: go to ${dashboardUrl}`));
  }

  async close(): Promise<void> {
    await this.#service.close();
    await this.#demo?.stop();
  }

  async #trigger(): Promise<void> {
    const deliveries = await this.#service.trigger('transaction.paid');
    if (deliveries.length > 0) return;
    this.#note(
      'No webhook subscribes to transaction.paid: register one on the page, or start with --forward.',
    );
  }

  async #resend(): Promise<void> {
    const last = this.#service.deliveries().at(-1);
    if (last) await this.#service.resend(last.id);
    else this.#note('There is no delivery yet: t triggers one.');
  }

  async #toggle(): Promise<void> {
    if (this.#demo?.running) {
      await this.#demo.stop();
      this.#note('The demo endpoint is stopped: the next delivery will be retried.');
    } else {
      await this.#demo?.start();
      this.#note('The demo endpoint is back.');
    }
  }

  #note(text: string): void {
    print(this.#terminal.stderr, printable(text));
  }
}
