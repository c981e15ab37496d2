// `completion`: prints a script for bash, zsh or fish, made from the table of commands.
import { builtInEventNames } from '../../events/event.js';
import { type Command, command, EXIT, type Offer, type Row } from './command.js';
import { oneOf } from './flag-values.js';

type Offered = 'file' | readonly string[];
type Described = readonly [name: string, about: string];

type Entry = Row & Command;

const SHELLS = ['bash', 'zsh', 'fish'] as const;

export const completion = command({
  about:
    'Prints a script that completes the commands, options and values of this program. The shell must find the program, so first run npm install --global payment-webhooks.',
  arguments: [{ name: 'SHELL', about: 'bash, zsh or fish', ...oneOf(SHELLS) }],
  options: {},
  examples: {
    'source <(payment-webhooks completion bash)': 'in ~/.bashrc',
    'source <(payment-webhooks completion zsh)': 'in ~/.zshrc, after compinit',
    'payment-webhooks completion fish > ~/.config/fish/completions/payment-webhooks.fish': 'once, for fish',
  },
  async run({ positionals: [shell = ''], terminal, commands }) {
    const entries = await Promise.all(commands.map(async (row) => ({ ...row, ...(await row.load()) })));
    const script = { bash, zsh, fish }[shell as (typeof SHELLS)[number]];
    terminal.stdout.write(script(entries));
    return EXIT.ok;
  },
});

/** File names, or these words. */
function offered(offer: Offer = []): Offered {
  return offer === 'event' ? builtInEventNames : offer;
}

/** What a command line begins with, and the second words of each group of commands. */
function wordsOf(entries: readonly Entry[]) {
  const groups = new Map<string, Described[]>();
  const commands: Described[] = [];
  for (const { name, summary } of entries) {
    const [first = '', second] = name.split(' ');
    if (second === undefined) commands.push([name, summary]);
    else groups.set(first, [...(groups.get(first) ?? []), [second, summary]]);
  }
  const listed = (members: Described[]) => members.map(([name]) => name).join(', ');
  const firstWords = [...groups].map(([first, members]): Described => [first, listed(members)]);
  return { groups: [...groups], firstWords: [...firstWords, ...commands] };
}

/** In single quotes, which all three shells read the same way. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", '’')}'`;
}

/** Shared by bash and zsh, which define the variables and functions in it. @param word as `offer` takes it */
function cases(entries: readonly Entry[], word: (described: Described) => string): string {
  const offer = (words: readonly Described[]) => ['_payment_webhooks_offer', ...words.map(word)].join(' ');
  const offerValues = (values: Offered) =>
    values === 'file' ? '_payment_webhooks_files' : offer(values.map((name) => [name, '']));
  const { groups, firstWords } = wordsOf(entries);
  const values = entries.flatMap(({ name, options }) =>
    Object.entries(options).flatMap(([option, { type, offer: of }]) =>
      type === 'boolean' ? [] : [`    '${name} --${option}') ${offerValues(offered(of))}; return ;;`],
    ),
  );
  const words = entries.flatMap(({ name, options, arguments: [argument] }) => {
    const flags = Object.entries(options).map(([option, { about }]): Described => [`--${option}`, about]);
    return [
      `    '${name} -'*) ${offer([...flags, ['--help', 'Show this help.']])} ;;`,
      `    '${name} '*) ${offerValues(offered(argument?.offer))} ;;`,
    ];
  });
  const seconds = groups.map(
    ([first, members]) => `    ${first})
      if (( index == 2 )); then ${offer(members)}; return; fi
      name+=" $second" ;;`,
  );
  return `  if (( index == 1 )); then ${offer(firstWords)}; return; fi
  case $name in
${seconds.join('\n')}
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
  const { groups, firstWords } = wordsOf(entries);
  const rows = entries.flatMap((entry) => {
    const inCommand = (rest: string) => line(`__payment_webhooks_in ${entry.name}`, rest);
    const values = offered(entry.arguments[0]?.offer);
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
  ...firstWords.map(word('__fish_use_subcommand')),
  ...groups.flatMap(([first, members]) => members.map(word(`__payment_webhooks_after ${first}`))),
  ...rows,
].join('\n')}
`;
}
