// The option logger with real loggers of npm: no line may lose its text or its fields, or the refusal shows a wrapper that works.
import { beforeAll, expect, test } from '@jest/globals';
import { type Consumer, consumer } from './consumer.js';

/** Each makes its logger in an expression, and writes to the standard output. */
const LOGGERS: Record<string, string> = {
  pino: `(await import('pino')).pino()`,
  bunyan: `(await import('bunyan')).default.createLogger({ name: 'shop' })`,
  roarr: `(await import('roarr')).Roarr`,
  tslog: `new (await import('tslog')).Logger({ type: 'json' })`,
  'tslog, pretty': `new (await import('tslog')).Logger()`,
  loglevel: `(await import('loglevel')).default.getLogger('shop')`,
  consola: `(await import('consola')).consola`,
  log4js: `(await import('log4js')).default.configure({ appenders: { out: { type: 'stdout' } }, categories: { default: { appenders: ['out'], level: 'info' } } }).getLogger()`,
  console: 'console',
  winston: `await (async ({ createLogger, format, transports }) =>
    createLogger({ format: format.json(), transports: [new transports.Console()] }))((await import('winston')).default)`,
  LogTape: `await (async ({ configure, getConsoleSink, getLogger, jsonLinesFormatter }) => {
    const sinks = { out: getConsoleSink({ formatter: jsonLinesFormatter }) };
    await configure({ sinks, loggers: [{ category: 'shop', sinks: ['out'] }, { category: ['logtape', 'meta'], sinks: [] }] });
    return getLogger('shop');
  })(await import('@logtape/logtape'))`,
  npmlog: `(await import('npmlog')).default`,
  'the Logger of NestJS': `new (await import('@nestjs/common')).Logger('shop')`,
  'the ConsoleLogger of NestJS': `new (await import('@nestjs/common')).ConsoleLogger({ json: true })`,
};

const WRAPPED = ['winston', 'LogTape', 'npmlog', 'the Logger of NestJS', 'the ConsoleLogger of NestJS'];

const APP = (logger: string) => `
import { receiver } from 'payment-webhooks';
import { fixtures, signedDelivery } from 'payment-webhooks/testing';

const lib = ${logger};
lib.setLevel?.('info');
const privateKey = 'pri_of_loggers';
const start = (logger) => receiver({ privateKey, logger });
let hooks;
try {
  hooks = start(lib);
} catch ({ message }) {
  const [, wrapper, given] = /Wrap it: (.*); and pass (\\{.*\\})\\.$/.exec(message);
  console.log('REFUSED');
  hooks = start(new Function('log', wrapper + '; return (' + given + ');')(lib));
}
hooks.on('transaction.paid', (_event, { log }) => {
  log.warn({ step: 'booking-7' }, 'half way');
  log.info('nearly there');
});
const { body: rawBody, headers } = signedDelivery(fixtures.transactionPaid({ id: 'evt_logged' }), { privateKey });
await hooks.receive({ rawBody, headers });
await hooks.receive({ rawBody, headers: {} });
`;

let project: Consumer;

beforeAll(async () => {
  project = await consumer('loggers', [
    ...['pino@10', 'bunyan@2', 'roarr@7', 'tslog@5', 'loglevel@1', 'consola@3', 'log4js@6', 'winston@3'],
    ...['@logtape/logtape@2', 'npmlog@7', '@nestjs/common@12', 'reflect-metadata', 'rxjs'],
  ]);
}, 240_000);

test.each(Object.entries(LOGGERS))(
  '%s keeps text and fields of each line',
  async (name, logger) => {
    project.write('app.mjs', APP(logger));
    const { code, stdout, stderr } = await project.shell('ROARR_LOG=true NO_COLOR=1 node app.mjs');
    expect(code).toBe(0);
    // npmlog and the warnings of others go to the standard error.
    const written = stdout + stderr;
    expect(written.includes('REFUSED')).toBe(WRAPPED.includes(name));
    const parts = ['delivery', 'processed', 'evt_logged', 'SIGNATURE_MISSING'];
    for (const part of [...parts, 'half way', 'booking-7', 'nearly there']) expect(written).toContain(part);
    expect(written).not.toMatch(/\[object|unknown setting/);
  },
  60_000,
);
