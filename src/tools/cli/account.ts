// `account`, `webhooks …` and `keys rotate`: the account of the key, its webhooks, and a new key.
import type { Webhook } from '../../client/codec.js';
import { command, flag, type Result, text, UsageError } from './command.js';
import { controlOptions, controlPlane } from './control-plane.js';
import { defined, notEmpty, ValueError } from './flag-values.js';
import { table } from './print.js';
import { confirm } from './read-input.js';
import { serviceOptions, withService } from './service.js';

const eventsOption = text(
  { 'A,B': 'transaction.paid' },
  'Event names, separated by commas; * is all of them.',
  { read: eventList },
);

const URL_ARGUMENT = { name: 'URL', about: 'where events are delivered, such as https://shop.example/hooks' };
const ID_ARGUMENT = {
  name: 'ID',
  about: 'the id of the webhook, as `webhooks list` shows it',
  read: notEmpty,
};
const WHERE = 'It calls the simulator on this machine unless you give --live.';

export const account = command({
  about: `Shows the account as the service describes it: a quick check that address and key are right. ${WHERE}`,
  options: serviceOptions,
  examples: {
    'payment-webhooks account': 'the account of the simulator',
    'SERVICE_API_URL=https://api.example.com payment-webhooks account --live --key-file key.txt':
      'the live account',
  },
  async run({ values, terminal }) {
    const found = await withService(values, terminal, (service) => service.account.me());
    const cell = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
    const rows = Object.entries(found).map(([name, value]) => [name, cell(value)]);
    return { values: [found], text: table(rows) };
  },
});

export const list = command({
  about: `Lists the webhooks on the account. ${WHERE}`,
  options: serviceOptions,
  examples: {
    'payment-webhooks webhooks list': 'the webhooks of the simulator',
    'payment-webhooks webhooks list --live --json | jq -r .url': 'the live URLs',
  },
  async run({ values, terminal }) {
    const webhooks = await withService(values, terminal, (service) => service.webhooks.list());
    const rows = [['ID', 'URL', 'EVENTS'], ...webhooks.map(cells)];
    return { values: webhooks, text: webhooks.length === 0 ? 'There are no webhooks.' : table(rows) };
  },
});

export const create = command({
  about: `Registers a webhook, even if one with this URL exists; see \`webhooks ensure\`. ${WHERE}`,
  arguments: [URL_ARGUMENT],
  options: { events: eventsOption, ...serviceOptions },
  examples: {
    'payment-webhooks webhooks create http://localhost:3000/hooks': 'every event of the simulator',
    'payment-webhooks webhooks create https://shop.example/hooks --events transaction.paid --live':
      'one event, live',
  },
  async run({ positionals: [url = ''], values, terminal }) {
    const input = { url, events: values.events };
    return done('created', await withService(values, terminal, ({ webhooks }) => webhooks.create(input)));
  },
});

export const update = command({
  about: `Changes the URL or the events of a webhook. ${WHERE} Here --url is the new URL of the webhook, so the address of the simulator comes from SERVICE_SIM_URL.`,
  arguments: [ID_ARGUMENT],
  options: {
    ...serviceOptions,
    url: text({ URL: 'https://shop.example/hooks' }, 'Deliver to this URL from now on.'),
    events: eventsOption,
  },
  examples: { 'payment-webhooks webhooks update 42 --events transaction.paid': 'deliver this event only' },
  async run({ positionals: [id = ''], values, terminal }) {
    const { url, ...rest } = values;
    const choice = { ...rest, names: { url: '--url' } };
    const changes = defined({ url, events: values.events });
    if (Object.keys(changes).length === 0) throw new UsageError('Pass --url, --events, or both.');
    const updated = await withService(choice, terminal, ({ webhooks }) => webhooks.update(id, changes));
    return done('updated', updated);
  },
});

const remove = command({
  about: `Deletes a webhook. With --live it asks first; without a terminal, give --yes. ${WHERE}`,
  arguments: [ID_ARGUMENT],
  options: { yes: flag('Do not ask.'), ...serviceOptions },
  examples: { 'payment-webhooks webhooks delete 42': 'delete it from the simulator' },
  async run({ positionals: [id = ''], values, terminal }) {
    if (values.live && !values.yes) await confirm(`Delete webhook ${id} from the live account?`, terminal);
    await withService(values, terminal, (service) => service.webhooks.delete(id));
    return { values: [{ deleted: id }], text: table([['deleted', id]]) };
  },
});

export { remove as delete };

export const ensure = command({
  about: `Makes sure that one webhook with this URL and these events is registered: creates it, updates its events, or leaves it unchanged. Safe to run at every deploy. ${WHERE}`,
  arguments: [URL_ARGUMENT],
  options: { events: eventsOption, ...serviceOptions },
  examples: {
    'payment-webhooks webhooks ensure https://shop.example/hooks --events transaction.paid --live':
      'in a deploy',
  },
  async run({ positionals: [url = ''], values, terminal }) {
    const input = { url, events: values.events };
    const ensured = await withService(values, terminal, (service) => service.webhooks.ensure(input));
    return { ...done(ensured.action, ensured.webhook), values: [ensured] };
  },
});

export const rotate = command({
  about:
    'Makes a new private key for the account of the simulator, and prints it once. Then it signs every delivery, and the API refuses the old key. An endpoint that knows only the old key answers 401 until it gets the new one.',
  options: controlOptions,
  examples: {
    'payment-webhooks keys rotate': 'then trigger an event to see what an endpoint with the old key answers',
    'payment-webhooks keys rotate >> .env': 'for the next start of your app',
  },
  async run({ values, terminal }) {
    const control = controlPlane(values, terminal);
    const { data } = await control.post<{ data: { private_key: string } }>('/keys/rotate');
    return {
      values: [data],
      text: `SERVICE_PRIVATE_KEY=${data.private_key}`,
      notes: values.json ? [] : AFTER_ROTATION,
    };
  },
});

function done(action: string, webhook: Webhook): Result {
  return { values: [webhook], text: table([[action, ...cells(webhook)]]) };
}

function cells({ id, url, events }: Webhook): string[] {
  return [id, url, events.join(',')];
}

function eventList(option: string, text: string): string[] {
  const events = text.split(',').map((name) => name.trim());
  if (!events.includes('')) return events;
  const example = 'transaction.paid,refund.succeeded';
  throw new ValueError(option, text, `is not a list of event names. Pass one like ${example}.`);
}

const AFTER_ROTATION = [
  'The old key no longer works. Start your app with the new one, or with both.',
  '`webhooks` and `account` read it from SERVICE_PRIVATE_KEY.',
  'To see what an endpoint with the old key answers: payment-webhooks trigger transaction.paid --wait',
];
