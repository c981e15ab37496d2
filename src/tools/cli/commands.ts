// The table of commands: help, completion and docs/cli.md derive from it. A new command is a row and a file.
import type { Row } from './command.js';

const deliveries = () => import('./deliveries.js');
const webhooks = () => import('./webhooks.js');
const deadLetters = () => import('./dead-letters.js');

export const commands: readonly Row[] = [
  row(
    'simulate',
    'Simulate the service on this machine',
    async () => (await import('./simulate.js')).simulate,
  ),
  row('trigger', 'Trigger an event in the simulator', async () => (await import('./trigger.js')).trigger),
  row('deliveries list', 'List the deliveries of the simulator', async () => (await deliveries()).list),
  row('deliveries show', 'Show one delivery, and why it failed', async () => (await deliveries()).show),
  row('deliveries resend', 'Send the same event again', async () => (await deliveries()).resend),
  row('deliveries curl', 'Print a delivery as a curl command', async () => (await deliveries()).curl),
  row(
    'deliveries clear',
    'Delete the finished deliveries of the simulator',
    async () => (await deliveries()).clear,
  ),
  row('dead-letters list', 'List events that were not processed', async () => (await deadLetters()).list),
  row(
    'dead-letters show',
    'Show one dead letter, and why it was kept',
    async () => (await deadLetters()).show,
  ),
  row('dead-letters replay', 'Process dead letters', async () => (await deadLetters()).replay),
  row('dead-letters discard', 'Delete dead letters for good', async () => (await deadLetters()).discard),
  row('learn', 'Propose a schema from events that arrived', async () => (await import('./learn.js')).learn),
  row('webhooks list', 'List the webhooks on the account', async () => (await webhooks()).list),
  row('webhooks create', 'Register a webhook', async () => (await webhooks()).create),
  row('webhooks update', 'Change the URL or the events of a webhook', async () => (await webhooks()).update),
  row('webhooks delete', 'Delete a webhook', async () => (await webhooks()).remove),
  row('webhooks ensure', 'Register a webhook if it is missing', async () => (await webhooks()).ensure),
  row('account', 'Show the account of the key', async () => (await import('./account.js')).account),
  row(
    'keys rotate',
    'Make a new private key for the simulator',
    async () => (await import('./keys.js')).rotate,
  ),
  row('sign', 'Print the signature of a body', async () => (await import('./sign.js')).sign),
  row('verify', 'Check a signature, and say what is wrong', async () => (await import('./verify.js')).verify),
  row('doctor', 'Test an endpoint, and say what to fix', async () => (await import('./doctor.js')).doctor),
  row('explain', 'Say what an error code means', async () => (await import('./explain.js')).explain),
  row(
    'completion',
    'Print a shell completion script',
    async () => (await import('./completion.js')).completion,
  ),
];

function row(name: string, summary: string, load: Row['load']): Row {
  return { name, summary, load };
}

/** The command that a command line names, and the words after it. */
export function findCommand(words: readonly string[]): { row: Row; rest: readonly string[] } | undefined {
  for (const length of [2, 1]) {
    const found = commands.find(({ name }) => name === words.slice(0, length).join(' '));
    if (found) return { row: found, rest: words.slice(length) };
  }
  return undefined;
}
