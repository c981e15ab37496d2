// The one table of commands: help, completion and docs/cli.md derive from it. A new command is a row and a file.
import type { Row } from './command.js';

export const commands: readonly Row[] = [
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
