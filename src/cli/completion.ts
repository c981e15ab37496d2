// `completion`: scripts for bash, zsh and fish, made from the table of commands.
import { builtInEventNames } from '../events/event.js';
import { type Command, command, EXIT, type Offer, type Row, UsageError } from './command.js';

type Offered = 'file' | readonly string[];
type Described = readonly [name: string, about: string];

/** A command with its name and summary. */
type Entry = Row & Command;

const SCRIPTS: ReadonlyMap<string, (entries: readonly Entry[]) => string> = new Map([
  ['bash', bash],
  ['zsh', zsh],
  ['fish', fish],
]);
const SHELLS = [...SCRIPTS.keys()];

export const completion = command({
  about: 'Prints a script that teaches the shell the commands, options and names of this program.',
  arguments: [{ name: 'SHELL', about: 'bash, zsh or fish', offer: SHELLS }],
  options: {},
  examples: {
    'source <(payment-webhooks completion bash)': 'in ~/.bashrc',
    'source <(payment-webhooks completion zsh)': 'in ~/.zshrc, after compinit',
    'payment-webhooks completion fish > ~/.config/fish/completions/payment-webhooks.fish': 'once, for fish',
  },
  async run({ positionals: [shell = ''], terminal, commands }) {
    const script = SCRIPTS.get(shell);
    if (!script) throw new UsageError(`SHELL ${JSON.stringify(shell)} is not one of ${SHELLS.join(', ')}.`);
    const entries = await Promise.all(commands.map(async (row) => ({ ...row, ...(await row.load()) })));
    terminal.stdout.write(script(entries));
    return EXIT.ok;
  },
});

/** File names, or these words. */
function offered(offer: Offer = []): Offered {
  return offer === 'event' ? builtInEventNames : offer;
}

function argumentOf({ arguments: [argument] }: Entry): Offered {
  return offered(argument?.offer);
}

function firstWords(entries: readonly Entry[]): Described[] {
  const single = entries.filter(({ name }) => !name.includes(' '));
  return [
    ...groups(entries).map(
      ([first, members]): Described => [first, members.map(([name]) => name).join(', ')],
    ),
    ...single.map(({ name, summary }): Described => [name, summary]),
  ];
}

/** The second words of each group of commands, by the first. */
function groups(entries: readonly Entry[]): [string, Described[]][] {
  const found = new Map<string, Described[]>();
  for (const { name, summary } of entries) {
    const [first = '', second] = name.split(' ');
    if (second !== undefined) found.set(first, [...(found.get(first) ?? []), [second, summary]]);
  }
  return [...found];
}

function flags({ options }: Entry): Described[] {
  const known = Object.entries(options).map(([name, { about }]): Described => [`--${name}`, about]);
  return [...known, ['--help', 'Show this help.']];
}

/** In single quotes, as every shell reads them. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", '’')}'`;
}

/** How bash and zsh say the same: in each, `name`, `previous` and `current` are variables. */
interface Dialect {
  /** The number of the typed word; 1 is the first after the program. */
  readonly index: string;
  readonly secondWord: string;
  offer(words: readonly Described[]): string;
  offerValues(values: Offered): string;
}

function cases(entries: readonly Entry[], { index, secondWord, offer, offerValues }: Dialect): string {
  const values = entries.flatMap(({ name, options }) =>
    Object.entries(options).flatMap(([option, { type, offer: of }]) =>
      type === 'boolean' ? [] : [`    '${name} --${option}') ${offerValues(offered(of))}; return ;;`],
    ),
  );
  const words = entries.flatMap((entry) => [
    `    '${entry.name} -'*) ${offer(flags(entry))} ;;`,
    `    '${entry.name} '*) ${offerValues(argumentOf(entry))} ;;`,
  ]);
  return `  if (( ${index} == 1 )); then ${offer(firstWords(entries))}; return; fi
  case $name in
${groups(entries)
  .map(
    ([first, members]) => `    ${first})
      if (( ${index} == 2 )); then ${offer(members)}; return; fi
      name+=" ${secondWord}" ;;`,
  )
  .join('\n')}
  esac
  case "$name $previous" in
${values.join('\n')}
  esac
  case "$name $current" in
${words.join('\n')}
  esac`;
}

function bash(entries: readonly Entry[]): string {
  const dialect: Dialect = {
    index: 'COMP_CWORD',
    secondWord: '$' + '{COMP_WORDS[2]}',
    offer: (words) => `offer '${words.map(([name]) => name).join(' ')}'`,
    offerValues: (values) => (values === 'file' ? 'files' : `offer '${values.join(' ')}'`),
  };
  return `# Completion of payment-webhooks for bash
_payment_webhooks() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} name=\${COMP_WORDS[1]}
  offer() { COMPREPLY=($(compgen -W "$1" -- "$current")); }
  files() { COMPREPLY=($(compgen -f -- "$current")); }
  COMPREPLY=()
${cases(entries, dialect)}
}
complete -F _payment_webhooks payment-webhooks
`;
}

function zsh(entries: readonly Entry[]): string {
  const dialect: Dialect = {
    index: 'CURRENT - 1',
    secondWord: '$' + '{words[3]}',
    offer: (words) => {
      const all = words.map(([name, about]) => quoted(`${name}:${about}`)).join(' ');
      return `all=(${all}); _describe ${all.startsWith("'--") ? '-o option' : 'command'} all`;
    },
    offerValues: (values) => (values === 'file' ? '_files' : `compadd -- ${values.join(' ')}`),
  };
  return `#compdef payment-webhooks
# Completion of payment-webhooks for zsh
_payment_webhooks() {
  local name=\${words[2]} previous=\${words[CURRENT-1]} current=$PREFIX
  local -a all
${cases(entries, dialect)}
}
compdef _payment_webhooks payment-webhooks
`;
}

function fish(entries: readonly Entry[]): string {
  const line = (condition: string, rest: string) =>
    `complete -c payment-webhooks -n ${quoted(condition)} ${rest}`;
  const offer = (values: Offered) => (values === 'file' ? '-r -F' : `-x -a ${quoted(values.join(' '))}`);
  const word =
    (condition: string) =>
    ([name, about]: Described) =>
      line(condition, `-a ${name} -d ${quoted(about)}`);
  const rows = entries.flatMap((entry) => {
    const inCommand = (rest: string) => line(`__payment_webhooks_in ${entry.name}`, rest);
    const values = argumentOf(entry);
    return [
      ...(values.length > 0 ? [inCommand(offer(values))] : []),
      ...Object.entries(entry.options).map(([name, { type, offer: of, about }]) => {
        const takes = type === 'boolean' ? '' : `${offer(offered(of))} `;
        return inCommand(`-l ${name} ${takes}-d ${quoted(about)}`);
      }),
      inCommand('-l help -d "Show this help."'),
    ];
  });
  return `# Completion of payment-webhooks for fish
function __payment_webhooks_in
    set -l typed (commandline -opc)
    set -l last (math 1 + (count $argv))
    test (count $typed) -ge $last; and test "$typed[2..$last]" = "$argv"
end
function __payment_webhooks_after
    set -l typed (commandline -opc)
    test "$typed[2..-1]" = "$argv"
end
complete -c payment-webhooks -f
${[
  ...firstWords(entries).map(word('__fish_use_subcommand')),
  ...groups(entries).flatMap(([first, members]) => members.map(word(`__payment_webhooks_after ${first}`))),
  ...rows,
].join('\n')}
`;
}
