// The table of docs/cli.md that lists the commands, written from the table of commands.
import { commands } from '../../src/cli/commands.js';

export const BEGIN = '<!-- written from the table of commands: UPDATE_DOCS=1 npx jest test/cli/reference -->';
export const END = '<!-- end of what is written from the table -->';

export function cliReference(): string {
  const rows = commands.map(({ name, summary }) => `| \`${name}\` | ${summary} |`);
  return [BEGIN, ['| command | what it does |', '| --- | --- |', ...rows].join('\n'), END].join('\n\n');
}
