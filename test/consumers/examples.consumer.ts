// Each example by its README alone. Those of frameworks have more to show: framework.ts.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, test } from '@jest/globals';
import { ROOT } from '../setup/shell.js';
import { type Followed, followExample, installedBy, readmeOf } from './example.js';
import { installOnce } from './linked.js';

const FRAMEWORKS = ['fastify', 'hono', 'nestjs', 'nextjs'];
/** Of serverless.consumer.ts. */
const SERVERLESS = ['aws-lambda', 'cloudflare-workers', 'docker-compose', 'serverless-http'];
/** Of test/lab/faults/queue-brokers.test.ts, which starts their broker. */
const BROKERS = ['queue-nats', 'queue-rabbitmq'];
const ELSEWHERE = [...FRAMEWORKS, ...SERVERLESS, ...BROKERS];
const EXAMPLES = readdirSync(join(ROOT, 'examples'))
  .filter((example) => example !== 'README.md' && !ELSEWHERE.includes(example))
  .map((example) => ({ example, ...readmeOf(example) }));

let followed: Followed | undefined;
let link: Awaited<ReturnType<typeof installOnce>>;

beforeAll(async () => {
  const runnable = EXAMPLES.filter(({ missing }) => !missing);
  link = await installOnce(runnable.flatMap(({ commands }) => installedBy(commands)));
}, 240_000);

afterEach(() => followed?.end());

describe('by its README alone', () => {
  for (const { example, missing } of EXAMPLES) {
    const run = missing ? test.skip : test;
    run(
      `the example ${example} runs${missing ? ` (needs ${missing})` : ''}`,
      async () => {
        followed = await followExample(example, {
          install: async (commands, folder) => link(installedBy(commands), folder),
        });
      },
      240_000,
    );
  }
});
