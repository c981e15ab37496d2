// A project that has neither Express nor its types: what it can load, and what the compiler says without skipLibCheck.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { type Consumer, consumer, DOORS } from './consumer.js';

/** Doors for which users install something else. */
const BRING_MORE = ['payment-webhooks/opentelemetry', 'payment-webhooks/queues/bullmq'];
const specifiers = DOORS.filter((door) => !BRING_MORE.includes(door));

const START = `startSimulator({ port: 0 }).catch((error) => console.log(error.name + ': ' + error.message));\n`;
const MISSING = 'ConfigurationError: The simulator needs Express. Run npm install express.\n';

const OPS = `
import { createServer } from 'node:http';
import { memoryDeadLetters, receiver } from 'payment-webhooks';
import { deadLetterPage, health } from 'payment-webhooks/ops';

const hooks = receiver({ privateKey: 'pri_example', deadLetters: memoryDeadLetters(), logger: false });
const [healthz, page] = [health(hooks), deadLetterPage(hooks, { authorize: () => 'ada' })];
const server = createServer((req, res) => (req.url === '/healthz' ? healthz(req, res) : page(req, res)));
server.listen(0, '127.0.0.1', async () => {
  const at = 'http://127.0.0.1:' + server.address().port;
  const report = await fetch(at + '/healthz');
  console.log(report.status, (await report.json()).status);
  const html = await fetch(at);
  console.log(html.status, /<title>(.*)<\\/title>/.exec(await html.text())?.[1]);
  server.close();
});
`;

let project: Consumer;

beforeAll(async () => {
  project = await consumer('without-express', ['typescript@5.9.3', '@types/node@20']);
}, 180_000);

test('npm installs no Express with the package', () => {
  expect(existsSync(join(project.folder, 'node_modules/express'))).toBe(false);
  expect(existsSync(join(project.folder, 'node_modules/@types/express'))).toBe(false);
});

test.each([
  ['ESM', 'doors.mjs', (door: string) => `import '${door}';\n`],
  ['CommonJS', 'doors.cjs', (door: string) => `require('${door}');\n`],
])('every door loads as %s', async (_, file, load) => {
  project.write(file, specifiers.map(load).join(''));
  expect(await project.node([file])).toEqual({ code: 0, stdout: '', stderr: '' });
});

test('health and the page of dead letters answer', async () => {
  project.write('ops.mjs', OPS);
  const stdout = '200 ok\n200 Dead letters\n';
  expect(await project.node(['ops.mjs'])).toEqual({ code: 0, stdout, stderr: '' });
});

describe('a simulator that is started says what to install', () => {
  test.each([
    ['start.mjs', `import { startSimulator } from 'payment-webhooks/simulator';\n`],
    ['start.cjs', `const { startSimulator } = require('payment-webhooks/simulator');\n`],
  ])('%s', async (file, load) => {
    project.write(file, load + START);
    expect(await project.node([file])).toEqual({ code: 0, stdout: MISSING, stderr: '' });
  });

  test('on the command line', async () => {
    const { code, stderr } = await project.shell('npx payment-webhooks simulate --port 0');
    expect(stderr).toContain('The simulator needs Express. Run npm install express.');
    expect(code).not.toBe(0);
  });
});

test('the types of every door need none of Express, with skipLibCheck off', async () => {
  const imports = specifiers.map((specifier, index) => `export * as door${index} from '${specifier}';\n`);
  project.write('doors.mts', imports.join(''));
  const options =
    '--noEmit --strict --skipLibCheck false --target es2022 --lib es2023 --types node --module nodenext';
  const args = ['node_modules/typescript/bin/tsc', ...options.split(' '), 'doors.mts'];
  expect(await project.node(args)).toEqual({ code: 0, stdout: '', stderr: '' });
}, 120_000);
