// The table of commands: help, completion and docs/cli.md derive from it. A new command is a row and a file.
import type { Row } from './command.js';

const deliveries = () => import('./deliveries.js');
const webhooks = () => import('./webhooks.js');
const deadLetters = () => import('./dead-letters.js');

const TOPICS: Readonly<
  Record<string, readonly (readonly [name: string, summary: string, load: Row['load']])[]>
> = {
  'Simulate the service': [
    [
      'simulate',
      'Simulate the service on this machine',
      async () => (await import('./simulate.js')).simulate,
    ],
    ['trigger', 'Trigger an event in the simulator', async () => (await import('./trigger.js')).trigger],
    ['deliveries list', 'List the deliveries of the simulator', async () => (await deliveries()).list],
    ['deliveries show', 'Show one delivery, and why it failed', async () => (await deliveries()).show],
    ['deliveries resend', 'Send the same event again', async () => (await deliveries()).resend],
    ['deliveries curl', 'Print a delivery as a curl command', async () => (await deliveries()).curl],
    [
      'deliveries clear',
      'Delete the finished deliveries of the simulator',
      async () => (await deliveries()).clear,
    ],
    [
      'keys rotate',
      'Make a new private key for the simulator',
      async () => (await import('./keys.js')).rotate,
    ],
  ],
  'Test an endpoint': [
    ['doctor', 'Test an endpoint, and say what to fix', async () => (await import('./doctor.js')).doctor],
    ['sign', 'Print the signature of a body', async () => (await import('./sign.js')).sign],
    ['verify', 'Check a signature, and say what is wrong', async () => (await import('./verify.js')).verify],
    ['explain', 'Say what an error code means', async () => (await import('./explain.js')).explain],
  ],
  'Manage dead letters': [
    ['dead-letters list', 'List events that were not processed', async () => (await deadLetters()).list],
    [
      'dead-letters show',
      'Show one dead letter, and why it was kept',
      async () => (await deadLetters()).show,
    ],
    ['dead-letters replay', 'Process dead letters', async () => (await deadLetters()).replay],
    ['dead-letters discard', 'Delete dead letters for good', async () => (await deadLetters()).discard],
    ['learn', 'Propose a schema from events that arrived', async () => (await import('./learn.js')).learn],
  ],
  'Manage the account': [
    ['account', 'Show the account of the key', async () => (await import('./account.js')).account],
    ['webhooks list', 'List the webhooks on the account', async () => (await webhooks()).list],
    ['webhooks create', 'Register a webhook', async () => (await webhooks()).create],
    ['webhooks update', 'Change the URL or the events of a webhook', async () => (await webhooks()).update],
    ['webhooks delete', 'Delete a webhook', async () => (await webhooks()).remove],
    ['webhooks ensure', 'Register a webhook if it is missing', async () => (await webhooks()).ensure],
  ],
  'Set up the shell': [
    [
      'completion',
      'Print a shell completion script',
      async () => (await import('./completion.js')).completion,
    ],
  ],
};

export const commands: readonly Row[] = Object.entries(TOPICS).flatMap(([topic, rows]) =>
  rows.map(([name, summary, load]) => ({ name, topic, summary, load })),
);

/** The command that a command line names, and the words after it. */
export function findCommand(words: readonly string[]): { row: Row; rest: readonly string[] } | undefined {
  for (const length of [2, 1]) {
    const found = commands.find(({ name }) => name === words.slice(0, length).join(' '));
    if (found) return { row: found, rest: words.slice(length) };
  }
  return undefined;
}
