// `webhooks …`: the webhooks registered on the account.
import type { Webhook } from '../../client/codec.js';
import { command, flag, type Result, text, UsageError } from './command.js';
import { defined } from './flag-values.js';
import { table } from './print.js';
import { confirm } from './read-input.js';
import { serviceOptions, withService } from './service.js';

const eventsOption = text(
  { 'A,B': 'transaction.paid' },
  'Event names, separated by commas; * is all of them.',
  { offer: 'event' },
);

const URL_ARGUMENT = { name: 'URL', about: 'where events are delivered, such as https://shop.example/hooks' };
const ID_ARGUMENT = { name: 'ID', about: 'the id of the webhook, as `webhooks list` shows it' };
const WHERE = 'It calls the simulator on this machine unless you give --live.';

export const list = command({
  about: `Lists the webhooks on the account. ${WHERE}`,
  options: serviceOptions,
  examples: {
    'payment-webhooks webhooks list': 'those of the simulator',
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
    const input = { url, ...eventsOf(values.events) };
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
  examples: { 'payment-webhooks webhooks update 42 --events transaction.paid': 'deliver that event only' },
  async run({ positionals: [id = ''], values, terminal }) {
    const { url, ...rest } = values;
    const choice = { ...rest, names: { url: '--url' } };
    const changes = { ...defined({ url }), ...eventsOf(values.events) };
    if (Object.keys(changes).length === 0) throw new UsageError('Give --url, --events, or both.');
    return done(
      'updated',
      await withService(choice, terminal, ({ webhooks }) => webhooks.update(id, changes)),
    );
  },
});

export const remove = command({
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

export const ensure = command({
  about: `Makes sure that one webhook with this URL and these events is registered: creates it, updates its events, or leaves it unchanged. Safe to run at every deploy. ${WHERE}`,
  arguments: [URL_ARGUMENT],
  options: { events: eventsOption, ...serviceOptions },
  examples: {
    'payment-webhooks webhooks ensure https://shop.example/hooks --events transaction.paid --live':
      'in a deploy',
  },
  async run({ positionals: [url = ''], values, terminal }) {
    const input = { url, ...eventsOf(values.events) };
    const ensured = await withService(values, terminal, (service) => service.webhooks.ensure(input));
    return { ...done(ensured.action, ensured.webhook), values: [ensured] };
  },
});

function done(action: string, webhook: Webhook): Result {
  return { values: [webhook], text: table([[action, ...cells(webhook)]]) };
}

function cells({ id, url, events }: Webhook): string[] {
  return [id, url, events.join(',')];
}

function eventsOf(text: string | undefined): { events?: string[] } {
  if (text === undefined) return {};
  const events = text.split(',').map((name) => name.trim());
  if (!events.includes('')) return { events };
  throw new UsageError(
    `--events ${JSON.stringify(text)} is not a list of event names. Give one like transaction.paid,refund.succeeded.`,
  );
}
