// The part of docs/cli.md that describes each command, written from the table of commands.
import type { Command, Row } from '../../src/cli/command.js';
import { commands } from '../../src/cli/commands.js';
import { optionRows, usage } from '../../src/cli/help.js';

export const BEGIN = '<!-- written from the table of commands: UPDATE_DOCS=1 npx jest test/cli/reference -->';
export const END = '<!-- end of what is written from the table -->';

export async function cliReference(): Promise<string> {
  const overview = commands.map(({ name, summary }) => `| [\`${name}\`](#${anchor(name)}) | ${summary} |`);
  const sections = await Promise.all(commands.map(async (row) => section(row, await row.load())));
  return [
    BEGIN,
    ['| command | what it does |', '| --- | --- |', ...overview].join('\n'),
    ...sections,
    END,
  ].join('\n\n');
}

function section({ name }: Row, command: Command): string {
  const rows = [
    ...command.arguments.map((argument): [string, string] => [argument.name, argument.about]),
    ...optionRows(command),
  ];
  const table = rows.map(([left, about]) => `| \`${left}\` | ${about.replaceAll('|', '\\|')} |`);
  const examples = Object.entries(command.examples).map(([line, purpose]) => `# ${purpose}\n${line}`);
  return [
    `### ${name}`,
    `\`${usage(name, command)}\``,
    command.about,
    ['| | |', '| --- | --- |', ...table].join('\n'),
    `\`\`\`sh\n${examples.join('\n')}\n\`\`\``,
  ].join('\n\n');
}

function anchor(name: string): string {
  return name.replaceAll(' ', '-');
}
