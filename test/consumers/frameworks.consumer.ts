// Hono, Fastify and NestJS, each with the mistakes that their guides warn of where they need a server of their own.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { delivery } from '../setup/delivery.js';
import { send } from '../setup/endpoint.js';
import { freePort } from '../setup/ports.js';
import { type Running, shell, startUntil } from '../setup/shell.js';
import { until } from '../setup/waiting.js';
import { describeFramework, LEDGER, ORDERS, paid, signed } from './framework.js';

const WRONG = `import 'reflect-metadata';
import { Controller, Inject, type MiddlewareConsumer, Module, Post, Req, Res } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { Receiver } from 'payment-webhooks';
import { HOOKS, HooksModule } from './hooks.module.js';
import { Ledger } from './ledger.js';
import { OrdersService } from './orders.service.js';

@Controller()
class WrongController {
  constructor(@Inject(HOOKS) private readonly hooks: Receiver) {}

  @Post('in-a-route')
  inARoute(@Req() req: any, @Res() res: any) {
    this.hooks(req, res);
  }

  @Post('passing-through')
  passingThrough(@Req() req: any, @Res({ passthrough: true }) res: any) {
    this.hooks(req, res);
  }

  @Post('returned')
  returned(@Req() req: any) {
    return this.hooks.receive({ rawBody: req.rawBody, headers: req.headers });
  }
}

@Module({ imports: [HooksModule.forRoot()], providers: [Ledger, OrdersService], controllers: [WrongController] })
class WrongModule {
  constructor(@Inject(HOOKS) private readonly hooks: Receiver) {}

  configure(consumer: MiddlewareConsumer) {
    consumer.apply(this.hooks).forRoutes('in-a-middleware');
  }
}

const app = await NestFactory.create(WrongModule, { rawBody: process.argv[2] === 'with-raw-body' });
await app.listen(Number(process.env.PORT));
console.log('http://localhost:');
`;

/** The same app on the other platform of NestJS. */
const ON_FASTIFY = `import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { AppModule } from './app.module.js';
import { HOOKS } from './hooks.module.js';

const app = await NestFactory.create(AppModule, new FastifyAdapter());
app.use('/hooks', app.get(HOOKS));
await app.listen(Number(process.env.PORT));
console.log('http://localhost:');
`;

let another: Running | undefined;
afterEach(() => another?.stop());

describeFramework('hono', { 'orders.ts': ORDERS });

describeFramework('fastify', { 'orders.ts': ORDERS }, (app) => {
  test('has its deliveries in the log of Fastify', async () => {
    const { port, program } = app();
    await send(port, signed(paid('order-logged')));
    await program.printed(/"outcome":"processed","status":200,.*"msg":"delivery"/);
  });
});

describeFramework('nestjs', { 'ledger.ts': LEDGER }, (app) => {
  /** Compiles the file and starts it. */
  const start = async (file: string, text: string, argument = '') => {
    const { folder } = app();
    writeFileSync(join(folder, `${file}.ts`), text);
    expect(await shell('npx tsc', { cwd: folder })).toMatchObject({ code: 0, stdout: '' });
    const port = await freePort();
    const env = { PORT: String(port), SERVICE_PRIVATE_KEY: 'pri_example' };
    another = await startUntil('http://localhost:', `exec node dist/${file}.js ${argument}`, env, folder);
    return (sent = signed(paid('fails')), path = '/hooks') => send(port, sent, path);
  };

  test('finishes a delivery before it stops, and takes no other', async () => {
    const { folder, port, program } = app();
    const waiting = send(port, signed(paid('waits-at-the-end')));
    await program.printed('began waits-at-the-end\n');
    const stopped = program.stop();
    await until(async () => (await send(port, signed(paid('order-late')))).status === 503);
    writeFileSync(join(folder, 'waits-at-the-end'), '');
    expect(await waiting).toMatchObject({ status: 200, body: { outcome: 'processed' } });
    await stopped;
  });

  test('a receiver in a route or a middleware of NestJS has no bytes, and says so', async () => {
    const post = await start('wrong', WRONG);
    for (const path of ['/in-a-route', '/in-a-middleware']) {
      expect(await post(undefined, path)).toMatchObject({ status: 500, body: { code: 'BODY_CONSUMED' } });
    }
  }, 90_000);

  test('with rawBody a route works, unless NestJS answers for it', async () => {
    const post = await start('wrong', WRONG, 'with-raw-body');
    expect(await post(undefined, '/in-a-route')).toMatchObject({ body: { code: 'HANDLER_FAILED' } });
    expect(await post(undefined, '/passing-through')).toMatchObject({ status: 201 });
    await another?.printed('in NestJS do not use @Res({ passthrough: true })');
    const forged = delivery(paid('any'), 'pri_another');
    expect(await post(forged, '/returned')).toMatchObject({ status: 201, body: { status: 401 } });
  }, 90_000);

  test('the same line mounts the receiver on Fastify', async () => {
    const { folder } = app();
    const install =
      'npm install --prefer-offline --no-audit --no-fund --loglevel=error @nestjs/platform-fastify';
    expect(await shell(install, { cwd: folder })).toMatchObject({ code: 0 });
    const post = await start('on-fastify', ON_FASTIFY);
    const sent = signed(paid('order-on-fastify'));
    expect(await post(sent)).toMatchObject({ status: 200, body: { outcome: 'processed' } });
    expect(await post(sent)).toMatchObject({ status: 200, body: { outcome: 'duplicate' } });
    expect(await post()).toMatchObject({ status: 500, body: { code: 'HANDLER_FAILED' } });
    expect(await post({ ...sent, headers: {} })).toMatchObject({ status: 401 });
  }, 180_000);
});
