// What the compiler knows of `deadLetterPage()` of `payment-webhooks/ops`: checked by `npm run typecheck`, never run.
import { createServer } from 'node:http';
import express, { type Request, type RequestHandler } from 'express';
import { memoryDeadLetters, type Receiver, receiver } from 'payment-webhooks';
import {
  type Authorize,
  type DeadLetterPageOptions,
  deadLetterPage,
  type PageUser,
} from 'payment-webhooks/ops';

const hooks = receiver({ deadLetters: memoryDeadLetters() });

// In Express the request is that of Express, for what any app calls its users.
const handler: RequestHandler = deadLetterPage(hooks, { authorize: (req) => req.get('x-user') });
express().use('/ops/webhooks', handler);
express().use('/ops/webhooks', deadLetterPage(hooks, { authorize: (req: Request) => req.get('x-user') }));
express().use('/ops/webhooks', deadLetterPage(hooks, { authorize: (req) => req.headers.authorization }));
createServer(deadLetterPage(hooks, { authorize: (req) => req.headers.authorization }));
deadLetterPage(hooks, { authorize: async () => ({ id: 7 }) });
deadLetterPage(hooks, {
  authorize: (req: Request) => req.ip === '10.0.0.7' && 'ada',
  hosts: ['ops.example'],
});
deadLetterPage(hooks, { authorize: () => null, logger: false });
declare function findUser(req: Request): Promise<{ name: string; email: string } | undefined>;
deadLetterPage(hooks, { authorize: findUser });
const authorize: Authorize = (req) => req.headers.authorization;

// A receiver whose options came from elsewhere may have none; then it throws.
declare const anyReceiver: Receiver;
deadLetterPage(anyReceiver, { authorize });

// @ts-expect-error: the guard cannot be forgotten
deadLetterPage(hooks, {});
// @ts-expect-error: nor its options
deadLetterPage(hooks);
// @ts-expect-error: true says nothing of who it is
deadLetterPage(hooks, { authorize: () => true });
// @ts-expect-error: nor does a user without a name or id
const user: PageUser = { email: 'ada@example.com' };
// @ts-expect-error: there is no such option
deadLetterPage(hooks, { authorize, host: 'ops.example' });
// @ts-expect-error: an app is no receiver
deadLetterPage(express(), { authorize });

declare const options: DeadLetterPageOptions;
// @ts-expect-error: options are not changed once they are given
options.logger = false;

export { user };
