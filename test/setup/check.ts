// `npm run check [-- OPTIONS OF JEST]`: what holds words, docs, examples, tools and the packed package. With --messages: prints
// every message of the source.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { messagesPage, readMessages } from './messages.js';

// npm runs its scripts at the root.
const ROOT = process.cwd();
const CHECKS = [
  '/test/(?:docs|examples|lab|setup)/',
  '/test/(?:docs|messages|package|type-cost|words)[.]test',
];

const args = process.argv.slice(2);
if (args.includes('--messages')) {
  console.log(messagesPage(readMessages(join(ROOT, 'src'))));
} else {
  const jest = join(ROOT, 'node_modules/jest/bin/jest.js');
  const { status } = spawnSync(process.execPath, [jest, ...CHECKS, ...args], { cwd: ROOT, stdio: 'inherit' });
  process.exitCode = status ?? 1;
}
