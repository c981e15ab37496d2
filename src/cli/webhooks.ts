// `webhooks …`: the webhooks registered on the account.
import type { Webhook } from '../client.js';
import { command, EXIT, UsageError } from './command.js';
import { confirm } from './confirm.js';
import { printResult, table } from './print.js';
import { serviceOptions, withService } from './service.js';

const eventsOption = {
  type: 'string',
  value: 'A,B',
  about: 'Names of the events, with commas between them; * is all of them.',
  offer: 'event',
} as const;

const URL_ARGUMENT = { name: 'URL', about: 'where events are delivered, such as https://shop.example/hooks' };
const ID_ARGUMENT = { name: 'ID', about: 'the id of the webhook, as `webhooks list` shows it' };
const WHERE = 'It talks to the simulator on this machine unless --live is given.';

export const list = command({
  about: `Lists the webhooks on the account. ${WHERE}`,
  arguments: [],
  options: serviceOptions,
  examples: [
    ['payment-webhooks webhooks list', 'those of the simulator'],
    ['payment-webhooks webhooks list --live --json | jq -r .url', 'the addresses of the live ones'],
  ],
  async run({ values, terminal }) {
    const webhooks = await withService(values, terminal, (service) => service.webhooks.list());
    const text = webhooks.length === 0 ? 'There are no webhooks.' : table([HEADINGS, ...webhooks.map(cells)]);
    printResult(terminal, { json: values.json, values: webhooks, text });
    return EXIT.ok;
  },
});

export const create = command({
  about: `Registers a webhook, also when there is one with this URL already; see \`webhooks ensure\`. ${WHERE}`,
  arguments: [URL_ARGUMENT],
  options: { events: eventsOption, ...serviceOptions },
  examples: [
    [
      'payment-webhooks webhooks create http://localhost:3000/hooks',
      'every event of the simulator to your app',
    ],
    [
      'payment-webhooks webhooks create https://shop.example/hooks --events transaction.paid --live',
      'one event, live',
    ],
  ],
  async run({ positionals: [url = ''], values, terminal }) {
    const input = { url, ...eventsOf(values.events) };
    const webhook = await withService(values, terminal, (service) => service.webhooks.create(input));
    printResult(terminal, {
      json: values.json,
      values: [webhook],
      text: table([['created', ...cells(webhook)]]),
    });
    return EXIT.ok;
  },
});

export const update = command({
  about: `Changes the URL or the events of a webhook, and nothing else of it. ${WHERE} As --url is the new address here, that of the simulator is taken from SERVICE_SIM_URL.`,
  arguments: [ID_ARGUMENT],
  options: {
    ...serviceOptions,
    url: { type: 'string', value: 'URL', about: 'Deliver to this address from now on.' },
    events: eventsOption,
  },
  examples: [['payment-webhooks webhooks update 42 --events transaction.paid', 'deliver that event only']],
  async run({ positionals: [id = ''], values, terminal }) {
    const { url, ...choice } = values;
    const changes = { ...(url === undefined ? {} : { url }), ...eventsOf(values.events) };
    if (Object.keys(changes).length === 0) throw new UsageError('Give --url, --events, or both.');
    const webhook = await withService(choice, terminal, (service) => service.webhooks.update(id, changes));
    printResult(terminal, {
      json: values.json,
      values: [webhook],
      text: table([['updated', ...cells(webhook)]]),
    });
    return EXIT.ok;
  },
});

export const remove = command({
  about: `Deletes a webhook. With --live it asks first; where nobody can answer, --yes is needed. ${WHERE}`,
  arguments: [ID_ARGUMENT],
  options: { yes: { type: 'boolean', about: 'Do not ask.' }, ...serviceOptions },
  examples: [['payment-webhooks webhooks delete 42', 'delete it from the simulator']],
  async run({ positionals: [id = ''], values, terminal }) {
    if (values.live && !values.yes)
      await confirm(`Delete the webhook ${id} from the live account?`, terminal);
    await withService(values, terminal, (service) => service.webhooks.delete(id));
    printResult(terminal, { json: values.json, values: [{ deleted: id }], text: table([['deleted', id]]) });
    return EXIT.ok;
  },
});

export const ensure = command({
  about: `Makes sure that a webhook with this URL and these events is registered, once: creates it, updates its events, or leaves it as it is. Safe to run at every deploy. ${WHERE}`,
  arguments: [URL_ARGUMENT],
  options: { events: eventsOption, ...serviceOptions },
  examples: [
    [
      'payment-webhooks webhooks ensure https://shop.example/hooks --events transaction.paid --live',
      'in a deploy',
    ],
  ],
  async run({ positionals: [url = ''], values, terminal }) {
    const input = { url, ...eventsOf(values.events) };
    const ensured = await withService(values, terminal, (service) => service.webhooks.ensure(input));
    const text = table([[ensured.action, ...cells(ensured.webhook)]]);
    printResult(terminal, { json: values.json, values: [ensured], text });
    return EXIT.ok;
  },
});

const HEADINGS = ['ID', 'URL', 'EVENTS'];

function cells({ id, url, events }: Webhook): string[] {
  return [id, url, events.join(',')];
}

function eventsOf(text: string | undefined): { events?: string[] } {
  return text === undefined ? {} : { events: text.split(',').map((name) => name.trim()) };
}
