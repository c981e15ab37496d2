// The one table of commands: help, completion and docs/cli.md derive from it. A new command is a row and a file.
import type { Row } from './command.js';

export const commands: readonly Row[] = [
  {
    name: 'simulate',
    summary: 'Start the service on this machine, with its page',
    load: async () => (await import('./simulate.js')).simulate,
  },
  {
    name: 'trigger',
    summary: 'Have an event happen in the simulator',
    load: async () => (await import('./trigger.js')).trigger,
  },
  {
    name: 'deliveries list',
    summary: 'List what the simulator has delivered, or tried to',
    load: async () => (await import('./deliveries.js')).list,
  },
  {
    name: 'deliveries show',
    summary: 'Show one delivery: what was sent, how it was answered, and why it failed',
    load: async () => (await import('./deliveries.js')).show,
  },
  {
    name: 'deliveries resend',
    summary: 'Send the same event again',
    load: async () => (await import('./deliveries.js')).resend,
  },
  {
    name: 'deliveries curl',
    summary: 'Print a delivery as a curl command',
    load: async () => (await import('./deliveries.js')).curl,
  },
  {
    name: 'webhooks list',
    summary: 'List the webhooks on the account',
    load: async () => (await import('./webhooks.js')).list,
  },
  {
    name: 'webhooks create',
    summary: 'Register a webhook',
    load: async () => (await import('./webhooks.js')).create,
  },
  {
    name: 'webhooks update',
    summary: 'Change the URL or the events of a webhook',
    load: async () => (await import('./webhooks.js')).update,
  },
  {
    name: 'webhooks delete',
    summary: 'Delete a webhook',
    load: async () => (await import('./webhooks.js')).remove,
  },
  {
    name: 'webhooks ensure',
    summary: 'Register a webhook unless it is there already, for deploys',
    load: async () => (await import('./webhooks.js')).ensure,
  },
  {
    name: 'account',
    summary: 'Show the account that the key belongs to',
    load: async () => (await import('./account.js')).account,
  },
  {
    name: 'sign',
    summary: 'Print the signature of a body',
    load: async () => (await import('./sign.js')).sign,
  },
  {
    name: 'verify',
    summary: 'Check a signature, and say how it differs',
    load: async () => (await import('./verify.js')).verify,
  },
  {
    name: 'doctor',
    summary: 'Send an endpoint good and bad deliveries, and say what to mend',
    load: async () => (await import('./doctor.js')).doctor,
  },
  {
    name: 'completion',
    summary: 'Print the completion script for a shell',
    load: async () => (await import('./completion.js')).completion,
  },
];

/** The row that a command line names, and the words after it. */
export function findCommand(words: readonly string[]): { row: Row; rest: readonly string[] } | undefined {
  for (const length of [2, 1]) {
    const row = commands.find(({ name }) => name === words.slice(0, length).join(' '));
    if (row) return { row, rest: words.slice(length) };
  }
  return undefined;
}
