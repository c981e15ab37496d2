// ServiceClient with the fetch of each package that apps have, at run time and for the compiler; and a real winston logger.
import { beforeAll, describe, expect, test } from '@jest/globals';
import { type Consumer, consumer } from './consumer.js';

const FETCHES = {
  'node-fetch 3': "import given from 'node-fetch';",
  'node-fetch 2': "import given from 'node-fetch-2';",
  'cross-fetch': "import given from 'cross-fetch';",
  undici: "import { fetch as given } from 'undici';",
  'the global one': 'const given = fetch;',
};
const OTHERS = {
  axios: "import given from 'axios';",
  ky: "import given from 'ky';",
  ofetch: "import { ofetch as given } from 'ofetch';",
};

const calls = (given: string) => `import { createServer } from 'node:http';
import { ServiceClient } from 'payment-webhooks/client';
${given}
const server = createServer((req, res) => {
  if (req.url.endsWith('/me')) return res.end('{"data":{"id":"acc_1"}}');
  if (req.method === 'DELETE') return res.writeHead(302, { location: '/x' }).end('moved');
  const more = () => { while (!res.destroyed && res.write(' '.repeat(65536))); };
  res.on('drain', more);
  more();
}).listen(0, '127.0.0.1', async () => {
  const baseUrl = \`http://127.0.0.1:\${server.address().port}\`;
  const client = new ServiceClient({ baseUrl, privateKey: 'pri_x', retries: 0, timeout: 5000, fetch: given });
  const told = (call) => call.then(JSON.stringify, ({ code }) => code);
  const { account, webhooks } = client;
  console.log(await told(account.me()), await told(webhooks.list()), await told(webhooks.delete('x')));
  process.exit();
});
`;

const WINSTON = `import winston from 'winston';
import { receiver } from 'payment-webhooks';
const logger = winston.createLogger({ transports: [new winston.transports.Console()] });
for (const given of [logger, logger.child({ a: 1 }), winston]) {
  try { receiver({ privateKey: 'pri_x', logger: given }); } catch (error) { console.log(error.message.slice(0, 27)); }
}
`;

let project: Consumer;
beforeAll(async () => {
  const aliases = [
    'node-fetch@3',
    'node-fetch-2@npm:node-fetch@2',
    '@types/node-fetch-2@npm:@types/node-fetch@2',
  ];
  const packages = [
    'cross-fetch',
    'undici@7',
    'axios',
    'ky',
    'ofetch',
    'winston',
    'typescript@5.9.3',
    '@types/node@20',
  ];
  project = await consumer('fetches', [...aliases, ...packages]);
}, 300_000);

const run = (file: string, text: string) => {
  project.write(file, text);
  return project.node([file]);
};

describe('the client works', () => {
  test.each(Object.entries(FETCHES))(
    'with %s',
    async (_, given) => {
      expect(await run('calls.mjs', calls(given))).toEqual({
        ...{ code: 0, stderr: '' },
        stdout: '{"id":"acc_1"} RESPONSE_TOO_LARGE REDIRECT_REFUSED\n',
      });
    },
    60_000,
  );
});

describe('the client refuses', () => {
  test.each(Object.entries(OTHERS))(
    '%s, which does not resolve with a Response for every status',
    async (_, given) => {
      const { stdout } = await run('refused.mjs', calls(given));
      expect(stdout).toContain('CONFIGURATION_INVALID');
    },
    60_000,
  );
});

test('the types of each fetch fit', async () => {
  const files = Object.values(FETCHES).map((given, index) => {
    const use =
      "import { ServiceClient } from 'payment-webhooks/client';\nnew ServiceClient({ fetch: given });\n";
    project.write(`typed${index}.mts`, `${given}\n${use}`);
    return `typed${index}.mts`;
  });
  const options = '--noEmit --strict --skipLibCheck --esModuleInterop --module nodenext';
  const tsc = ['node_modules/typescript/bin/tsc', ...options.split(' '), '--target', 'es2022', ...files];
  expect(await project.node(tsc)).toEqual({ code: 0, stdout: '', stderr: '' });
}, 120_000);

test('a winston logger, a child of it and the module are refused', async () => {
  const refused = 'logger takes the text first';
  expect(await run('winston.mjs', WINSTON)).toMatchObject({ code: 0, stdout: `${refused}\n`.repeat(3) });
}, 60_000);
