// The part of docs/cli.md that names every command, written from the table of commands.
import { commands } from '../../src/tools/cli/commands.js';

export const BEGIN =
  '<!-- written from the table of commands: UPDATE_DOCS=1 npx jest test/tools/cli/reference -->';
export const END = '<!-- end of what is written from the table -->';

export function cliReference(): string {
  const first = new Map<string, string[]>();
  for (const { name } of commands) {
    const [group = '', ...rest] = name.split(' ');
    first.set(group, [...(first.get(group) ?? []), ...rest]);
  }
  const lines = [...first].map(([group, rest]) => `- \`${[group, rest.join('|')].join(' ').trim()}\``);
  return [BEGIN, lines.join('\n'), END].join('\n\n');
}
