// The completion scripts of three shells, written from what each command takes.

/** Names of files, or these words. */
export type Offered = 'file' | readonly string[];

/** What a shell needs to know of one command. */
export interface Entry {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly {
    readonly name: string;
    readonly about: string;
    /** What may follow the option; undefined when nothing does. */
    readonly value: Offered | undefined;
  }[];
  readonly argument: Offered;
}

/** The second words of each group of commands, by the first. */
function groups(entries: readonly Entry[]): Map<string, Entry[]> {
  const found = new Map<string, Entry[]>();
  for (const entry of entries) {
    const [first = '', second] = entry.name.split(' ');
    if (second !== undefined) found.set(first, [...(found.get(first) ?? []), entry]);
  }
  return found;
}

/** What may stand first, with its summary. */
function firsts(entries: readonly Entry[]): [string, string][] {
  const grouped = [...groups(entries)].map(([first, members]): [string, string] => [
    first,
    members.map(({ name }) => name.slice(first.length + 1)).join(', '),
  ]);
  const single = entries.filter(({ name }) => !name.includes(' '));
  return [...grouped, ...single.map(({ name, summary }): [string, string] => [name, summary])];
}

/** Each option that takes a value, with the command before it. */
function valued(entries: readonly Entry[]): [string, Offered][] {
  return entries.flatMap(({ name, options }) =>
    options.flatMap(({ name: option, value }): [string, Offered][] =>
      value === undefined ? [] : [[`${name} --${option}`, value]],
    ),
  );
}

const second = (name: string) => name.slice(name.indexOf(' ') + 1);

export function bash(entries: readonly Entry[]): string {
  const offer = (offered: Offered) => (offered === 'file' ? 'files' : `offer '${offered.join(' ')}'`);
  const flags = ({ options }: Entry) => options.map(({ name }) => `--${name}`).join(' ');
  return `# Completion of payment-webhooks for bash
_payment_webhooks() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} name=\${COMP_WORDS[1]}
  offer() { COMPREPLY=($(compgen -W "$1" -- "$current")); }
  files() { COMPREPLY=($(compgen -f -- "$current")); }
  COMPREPLY=()
  if (( COMP_CWORD == 1 )); then
    offer '${firsts(entries)
      .map(([name]) => name)
      .join(' ')} help --help --version'
    return
  fi
  case $name in
${[...groups(entries)]
  .map(
    ([first, members]) => `    ${first})
      if (( COMP_CWORD == 2 )); then offer '${members.map(({ name }) => second(name)).join(' ')}'; return; fi
      name+=" \${COMP_WORDS[2]}" ;;`,
  )
  .join('\n')}
  esac
  case "$name $previous" in
${valued(entries)
  .map(([place, offered]) => `    '${place}') ${offer(offered)}; return ;;`)
  .join('\n')}
  esac
  case "$name $current" in
${entries.map((entry) => `    '${entry.name} -'*) offer '${flags(entry)}' ;;\n    '${entry.name} '*) ${offer(entry.argument)} ;;`).join('\n')}
  esac
}
complete -F _payment_webhooks payment-webhooks
`;
}

export function zsh(entries: readonly Entry[]): string {
  const offer = (offered: Offered) => (offered === 'file' ? '_files' : `compadd -- ${offered.join(' ')}`);
  const described = (rows: readonly (readonly [string, string])[]) =>
    `all=(${rows.map(([name, about]) => quoted(`${name}:${about}`)).join(' ')})`;
  const flags = ({ options }: Entry) => described(options.map(({ name, about }) => [`--${name}`, about]));
  return `#compdef payment-webhooks
# Completion of payment-webhooks for zsh
_payment_webhooks() {
  local name=\${words[2]} previous=\${words[CURRENT-1]}
  local -a all
  if (( CURRENT == 2 )); then
    ${described(firsts(entries))}
    _describe command all
    return
  fi
  case $name in
${[...groups(entries)]
  .map(
    ([first, members]) => `    ${first})
      if (( CURRENT == 3 )); then
        ${described(members.map(({ name, summary }) => [second(name), summary]))}
        _describe command all
        return
      fi
      name+=" \${words[3]}" ;;`,
  )
  .join('\n')}
  esac
  case "$name $previous" in
${valued(entries)
  .map(([place, offered]) => `    '${place}') ${offer(offered)}; return ;;`)
  .join('\n')}
  esac
  case "$name $PREFIX" in
${entries.map((entry) => `    '${entry.name} -'*) ${flags(entry)}; _describe -o option all ;;\n    '${entry.name} '*) ${offer(entry.argument)} ;;`).join('\n')}
  esac
}
compdef _payment_webhooks payment-webhooks
`;
}

export function fish(entries: readonly Entry[]): string {
  const line = (condition: string, rest: string) =>
    `complete -c payment-webhooks -n ${quoted(condition)} ${rest}`;
  const values = (offered: Offered) => (offered === 'file' ? '-r -F' : `-x -a ${quoted(offered.join(' '))}`);
  const argument = ({ name, argument: offered }: Entry) =>
    offered === 'file' || offered.length > 0 ? [line(`__payment_webhooks_in ${name}`, values(offered))] : [];
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
  ...firsts(entries).map(([name, about]) => line('__fish_use_subcommand', `-a ${name} -d ${quoted(about)}`)),
  ...[...groups(entries)].flatMap(([first, members]) =>
    members.map(({ name, summary }) =>
      line(`__payment_webhooks_after ${first}`, `-a ${second(name)} -d ${quoted(summary)}`),
    ),
  ),
  ...entries.flatMap((entry) => [
    ...argument(entry),
    ...entry.options.map(({ name, about, value }) =>
      line(
        `__payment_webhooks_in ${entry.name}`,
        `-l ${name} ${value === undefined ? '' : `${values(value)} `}-d ${quoted(about)}`,
      ),
    ),
  ]),
].join('\n')}
`;
}

/** In single quotes, as every shell reads them. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", '’')}'`;
}
