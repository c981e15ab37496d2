// Apps of the program itself: each listens on a free port and is registered as a webhook.
import type { RequestListener, Server } from 'node:http';
import { closeServer, listen } from './listen.js';
import { type Registrations, type Webhook, webhookView } from './registrations.js';
import { DEVELOPER } from './seeds.js';

export class Attachments {
  readonly #registrations: Registrations;
  readonly #attached: { server: Server; fields: { url: string; events?: readonly string[] | undefined } }[] =
    [];

  constructor(registrations: Registrations) {
    this.#registrations = registrations;
  }

  async add(app: RequestListener, path: string, events: readonly string[] | undefined): Promise<Webhook> {
    const { server, port } = await listen(app, { host: '127.0.0.1', port: 0 });
    const fields = { url: `http://127.0.0.1:${port}${path}`, events };
    try {
      const webhook = await this.#registrations.create(DEVELOPER, fields);
      this.#attached.push({ server, fields });
      return webhookView(webhook);
    } catch (error) {
      await closeServer(server);
      throw error;
    }
  }

  /** After everything was forgotten. */
  async registerAgain(): Promise<void> {
    for (const { fields } of this.#attached) await this.#registrations.create(DEVELOPER, fields);
  }

  async close(): Promise<void> {
    await Promise.all(this.#attached.splice(0).map(({ server }) => closeServer(server)));
  }
}
