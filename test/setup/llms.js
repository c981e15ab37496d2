// Makes docs/llms.txt of the guides: `npm run docs:llms`. `-- --print` prints it, and `-- --full` prints every guide as one text.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

const ROOT = new URL('../../', import.meta.url);

/** The guides by what a reader wants, as in the README. */
const GROUPS = {
  'Receive safely': ['skill', 'receive', 'events', 'queues', 'accounts'],
  'Where events are kept': ['postgres', 'sql', 'sqlite', 'stores', 'large'],
  'Other places': ['frameworks'],
  'Test and debug': ['testing', 'simulator', 'first-delivery', 'troubleshooting'],
  Operate: ['deploying', 'dead-letters', 'observability', 'security', 'missed-events'],
  'Look up': ['options', 'errors', 'delivery', 'api', 'cli', 'client', 'what-is-documented'],
  'Compare, migrate, upgrade': ['compare', 'migrating', 'changelog'],
};

const read = (name) => readFileSync(new URL(name, ROOT), 'utf8');
const linkOf = (guide) => `- [${read(`docs/${guide}.md`).split('\n')[0].replace('# ', '')}](${guide}.md)`;

/** Refuses a guide that stands in no group, or in two. */
function guides() {
  const named = Object.values(GROUPS).flat();
  const found = readdirSync(new URL('docs', ROOT)).filter((name) => name.endsWith('.md'));
  const lost = found.filter((name) => named.filter((guide) => `${guide}.md` === name).length !== 1);
  if (lost.length > 0) throw new Error(`Name once in the groups of test/setup/llms.js: ${lost.join(', ')}`);
  return named;
}

function index() {
  guides();
  // What the README says of the package, in two sentences.
  const summary = read('README.md').split('\n\n')[1].replaceAll('\n', '\n> ');
  const groups = Object.entries(GROUPS).map(
    ([group, names]) => `## ${group}\n\n${names.map(linkOf).join('\n')}`,
  );
  const also = [
    '- [README](../README.md)',
    '- [Examples by task](../examples/README.md)',
    '- [The API of the service, as OpenAPI](openapi.json)',
  ];
  const start = 'Start with [skill.md](skill.md): install, mount, handle, test, and the five mistakes.';
  const parts = ['# payment-webhooks', `> ${summary}`, start, ...groups, `## Also\n\n${also.join('\n')}`];
  return `${parts.join('\n\n')}\n`;
}

/** The README and every guide but the changelog, each under the name of its file. */
function full() {
  const files = ['README.md', ...guides().map((guide) => `docs/${guide}.md`)];
  const texts = files.filter((name) => name !== 'docs/changelog.md');
  return texts.map((name) => `<!-- ${name} -->\n\n${read(name)}`).join('\n');
}

if (process.argv.includes('--full')) process.stdout.write(full());
else if (process.argv.includes('--print')) process.stdout.write(index());
else writeFileSync(new URL('docs/llms.txt', ROOT), index());
