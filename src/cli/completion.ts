// `completion`: scripts for bash, zsh and fish, made from the same table as the help.
import { builtInEventNames } from '../events/event.js';
import { type Command, command, EXIT, type Offer, type Row, UsageError } from './command.js';
import { bash, type Entry, fish, type Offered, zsh } from './completion-scripts.js';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

export const completion = command({
  about: 'Prints a script that teaches the shell the commands, options and names of this program.',
  arguments: [{ name: 'SHELL', about: 'bash, zsh or fish', offer: SHELLS }],
  options: {},
  examples: [
    ['source <(payment-webhooks completion bash)', 'in ~/.bashrc'],
    ['source <(payment-webhooks completion zsh)', 'in ~/.zshrc, after compinit'],
    ['payment-webhooks completion fish > ~/.config/fish/completions/payment-webhooks.fish', 'once, for fish'],
  ],
  async run({ positionals: [shell = ''], terminal, commands }) {
    const write = new Map([
      ['bash', bash],
      ['zsh', zsh],
      ['fish', fish],
    ]).get(shell);
    if (!write)
      throw new UsageError(`There is no completion for ${JSON.stringify(shell)}: give ${SHELLS.join(', ')}.`);
    terminal.stdout.write(write(await entries(commands)));
    return EXIT.ok;
  },
});

async function entries(commands: readonly Row[]): Promise<Entry[]> {
  return Promise.all(commands.map(async ({ name, summary, load }) => entry(name, summary, await load())));
}

function entry(name: string, summary: string, { options, arguments: [argument] }: Command): Entry {
  const known = Object.entries(options).map(([option, { about, offer, type }]) => ({
    name: option,
    about,
    value: type === 'string' ? offered(offer) : undefined,
  }));
  const help = { name: 'help', about: 'Show the help.', value: undefined };
  return { name, summary, options: [...known, help], argument: offered(argument?.offer) };
}

function offered(offer: Offer | undefined): Offered {
  if (offer === 'file') return 'file';
  return offer === 'event' ? builtInEventNames : (offer ?? []);
}
