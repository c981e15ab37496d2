// The table of commands, the source of help and docs/cli.md.
import type { Command, Row } from './command.js';

/** Imports a file that exports each command under the last word of its name. */
type Load = () => Promise<object>;

const account: Load = () => import('./account.js');
const deadLetters: Load = () => import('./dead-letters.js');
const deliveries: Load = () => import('./deliveries.js');
const signature: Load = () => import('./signature.js');

const TOPICS: Readonly<Record<string, readonly (readonly [name: string, summary: string, load: Load])[]>> = {
  'Simulate the service': [
    ['simulate', 'Simulate the service on this machine', () => import('./simulate.js')],
    ['trigger', 'Trigger an event in the simulator', () => import('./trigger.js')],
    ['deliveries list', 'List the deliveries of the simulator', deliveries],
    ['deliveries show', 'Show one delivery, and why it failed', deliveries],
    ['deliveries resend', 'Send the same event again', deliveries],
    ['deliveries curl', 'Print a delivery as a curl command', deliveries],
    ['deliveries clear', 'Delete the finished deliveries of the simulator', deliveries],
    ['capture', 'Record real deliveries, and find their signature', () => import('./capture.js')],
    ['keys rotate', 'Make a new private key for the simulator', account],
  ],
  'Test an endpoint': [
    ['doctor', 'Test an endpoint, and say what to fix', () => import('./doctor.js')],
    ['sign', 'Print the signature of a body', signature],
    ['verify', 'Check a signature, and say what is wrong', signature],
    ['explain', 'Say what an error code means', () => import('./explain.js')],
  ],
  'Manage dead letters': [
    ['dead-letters list', 'List events that were not processed', deadLetters],
    ['dead-letters show', 'Show one dead letter, and why it was kept', deadLetters],
    ['dead-letters replay', 'Process dead letters', deadLetters],
    ['dead-letters discard', 'Delete dead letters for good', deadLetters],
    ['events forget', 'Let an event run again', () => import('./events.js')],
    ['learn', 'Propose a schema from events that arrived', () => import('./learn.js')],
  ],
  'Manage the account': [
    ['account', 'Show the account of the key', account],
    ['webhooks list', 'List the webhooks on the account', account],
    ['webhooks create', 'Register a webhook', account],
    ['webhooks update', 'Change the URL or the events of a webhook', account],
    ['webhooks delete', 'Delete a webhook', account],
    ['webhooks ensure', 'Register a webhook if it is missing', account],
  ],
};

export const commands: readonly Row[] = Object.entries(TOPICS).flatMap(([topic, rows]) =>
  rows.map(([name, summary, load]) => {
    const [word = ''] = name.split(' ').slice(-1);
    return { name, topic, summary, load: async () => Reflect.get(await load(), word) as Command };
  }),
);

export function findCommand(words: readonly string[]): { row: Row; rest: readonly string[] } | undefined {
  const lengthOf = (name: string) => name.split(' ').length;
  const row = commands.find(({ name }) => name === words.slice(0, lengthOf(name)).join(' '));
  return row && { row, rest: words.slice(lengthOf(row.name)) };
}
