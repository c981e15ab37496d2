// `completion`: scripts for bash, zsh and fish, made from the table of commands.
import { builtInEventNames } from '../../events/event.js';
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
  about:
    'Prints a script that teaches the shell the commands, options and names of this program. The shell completes a program that it finds, so first run npm install --global payment-webhooks.',
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

/** The same for bash and zsh: each defines the variables, and what `offer` and `files` do. @param word as `offer` takes it */
function cases(entries: readonly Entry[], word: (described: Described) => string): string {
  const offer = (words: readonly Described[]) => ['_payment_webhooks_offer', ...words.map(word)].join(' ');
  const offerValues = (values: Offered) =>
    values === 'file' ? '_payment_webhooks_files' : offer(values.map((name) => [name, '']));
  const values = entries.flatMap(({ name, options }) =>
    Object.entries(options).flatMap(([option, { type, offer: of }]) =>
      type === 'boolean' ? [] : [`    '${name} --${option}') ${offerValues(offered(of))}; return ;;`],
    ),
  );
  const words = entries.flatMap((entry) => [
    `    '${entry.name} -'*) ${offer(flags(entry))} ;;`,
    `    '${entry.name} '*) ${offerValues(argumentOf(entry))} ;;`,
  ]);
  return `  if (( index == 1 )); then ${offer(firstWords(entries))}; return; fi
  case $name in
${groups(entries)
  .map(
    ([first, members]) => `    ${first})
      if (( index == 2 )); then ${offer(members)}; return; fi
      name+=" $second" ;;`,
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
  return `# Completion of payment-webhooks for bash
_payment_webhooks_offer() { COMPREPLY=($(compgen -W "$*" -- "$current")); }
_payment_webhooks_files() { COMPREPLY=($(compgen -f -- "$current")); }
_payment_webhooks() {
  local index=$COMP_CWORD name=\${COMP_WORDS[1]} second=\${COMP_WORDS[2]}
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]}
  COMPREPLY=()
${cases(entries, ([name]) => name)}
}
complete -F _payment_webhooks payment-webhooks
`;
}

function zsh(entries: readonly Entry[]): string {
  return `#compdef payment-webhooks
# Completion of payment-webhooks for zsh
_payment_webhooks_offer() {
  local -a all=("$@")
  if [[ $1 == --* ]]; then _describe -o option all; else _describe command all; fi
}
_payment_webhooks_files() { _files; }
_payment_webhooks() {
  local index=$((CURRENT - 1)) name=\${words[2]} second=\${words[3]}
  local current=$PREFIX previous=\${words[CURRENT-1]}
${cases(entries, ([name, about]) => quoted(about ? `${name}:${about}` : name))}
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
