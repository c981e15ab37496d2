// Asks a person before something that cannot be undone.
import { createInterface } from 'node:readline';
import { CommandError, type Terminal } from './command.js';
import { printable } from './print.js';

/** @throws {CommandError} unless somebody is there and says yes */
export async function confirm(question: string, { stdin, stderr }: Terminal): Promise<void> {
  if (!stdin.isTTY) {
    throw new CommandError(`${printable(question)} Nobody is there to answer: give --yes if that is meant.`);
  }
  stderr.write(`${printable(question)} [y/N] `);
  for await (const answer of createInterface({ input: stdin })) {
    if (/^y(es)?$/i.test(answer.trim())) return;
    break;
  }
  throw new CommandError('Not done.');
}
