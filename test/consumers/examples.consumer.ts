// Each example by its README alone. Those of frameworks have more to show: framework.ts.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, test } from '@jest/globals';
import { ROOT } from '../setup/shell.js';
import { type Followed, followExample, readmeOf } from './example.js';

const FRAMEWORKS = ['fastify', 'hono', 'nestjs', 'nextjs'];
/** Of serverless.consumer.ts. */
const SERVERLESS = ['aws-lambda', 'cloudflare-workers', 'docker-compose', 'serverless-http'];
const ELSEWHERE = [...FRAMEWORKS, ...SERVERLESS];
const EXAMPLES = readdirSync(join(ROOT, 'examples')).filter(
  (example) => example !== 'README.md' && !ELSEWHERE.includes(example),
);

let followed: Followed | undefined;

afterEach(() => followed?.end());

describe('by its README alone', () => {
  for (const example of EXAMPLES) {
    const { missing } = readmeOf(example);
    const run = missing ? test.skip : test;
    run(
      `the example ${example} runs${missing ? ` (needs ${missing})` : ''}`,
      async () => {
        followed = await followExample(example);
      },
      240_000,
    );
  }
});
