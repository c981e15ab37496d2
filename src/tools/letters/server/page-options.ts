// The options of the dead-letter page, checked before any request.
import type { IncomingMessage } from 'node:http';
import type { ForgottenEvent } from '../../../claims/forget-event.js';
import type { ForgetResult } from '../../../contracts/idempotency-store.js';
import type { DeadLetters } from '../../../dead-letters/dead-letters.js';
import { defaultLogger } from '../../../default-logger.js';
import { ConfigurationError } from '../../../errors.js';
import { LETTERS_LOGGER, type Logger, loggerOf } from '../../../logger.js';
import { show } from '../../../misuse.js';
import { defineOptions, option, optional } from '../../../options/define-options.js';
import * as check from '../../../options/option-checks.js';
import { hostName } from '../../web/request.js';

/**
 * The user: a name, or an object with a name or an id. Falsy values are refused. With `'login'` the answer is 401, and a
 * browser asks for the user name and password of HTTP Basic authentication.
 */
export type PageUser =
  | string
  | { readonly name: string }
  | { readonly id: string | number }
  | false
  | null
  | undefined;

/** Called for every request, including those for scripts and styles. */
export type Authorize<Req extends IncomingMessage = IncomingMessage> = (
  req: Req,
) => PageUser | PromiseLike<PageUser>;

/** @typeParam Req the request of your framework, such as that of Express */
export interface DeadLetterPageOptions<Req extends IncomingMessage = IncomingMessage> {
  /**
   * Returns the user who may see and change dead letters, a falsy value to answer 403, or `'login'` to answer 401, so that
   * a browser asks for a password. Reveals, replays and discards are logged with this user. If it throws or rejects, the
   * answer is 500.
   */
  readonly authorize: Authorize<Req>;
  /**
   * The accepted hosts of requests, without port, such as `['ops.example']`. Loopback hosts are always accepted. Set it
   * if `authorize` trusts the network: it protects against DNS rebinding.
   * @default any host
   */
  readonly hosts?: readonly string[] | undefined;
  /** Receives audit lines and errors; false disables logging. @default the logger of the receiver */
  readonly logger?: Logger | false | undefined;
}

export interface PageReceiver {
  readonly deadLetters: DeadLetters | undefined;
  readonly eventNames: readonly string[];
  readonly forget: ForgetEvent;
}

type ForgetEvent = (event: ForgottenEvent) => Promise<ForgetResult>;

export interface PageSettings {
  readonly letters: DeadLetters;
  readonly eventNames: readonly string[];
  /** Undefined for the receiver of an older copy of this package. */
  readonly forget: ForgetEvent | undefined;
  readonly authorize: (req: IncomingMessage) => unknown;
  /** As {@link hostName} returns them; undefined for any. */
  readonly hosts: ReadonlySet<string> | undefined;
  readonly logFor: (req: IncomingMessage) => Logger;
}

const EXAMPLE = 'deadLetterPage(hooks, { authorize: (req) => req.session.user })';

const OPTIONS = defineOptions({
  authorize: option(undefined, authorizer),
  hosts: optional(hostNames),
  logger: option(undefined, check.logger),
});

/** @throws {ConfigurationError} for a missing or invalid option */
export function pageSettings(hooks: unknown, options: unknown): PageSettings {
  const kept = receiverOf(hooks);
  if (typeof options !== 'object' || options === null)
    throw new ConfigurationError(`The options of deadLetterPage() are ${show(options)}. Pass ${EXAMPLE}.`);
  const { authorize, hosts, logger } = OPTIONS.read(options);
  const known =
    logger ?? (kept.letters as { readonly [LETTERS_LOGGER]?: Logger | undefined })[LETTERS_LOGGER];
  const logFor = (req: IncomingMessage) => known ?? loggerOf(req) ?? defaultLogger();
  return { ...kept, authorize, hosts, logFor };
}

/** Duck-typed: the receiver may come from another copy of this package. */
function receiverOf(hooks: unknown): Pick<PageSettings, 'letters' | 'eventNames' | 'forget'> {
  const { deadLetters: letters, eventNames, forget } = (hooks ?? {}) as Partial<PageReceiver>;
  if (!Array.isArray(eventNames)) {
    throw new ConfigurationError(
      `The first argument of deadLetterPage() is ${show(hooks)}. Pass what receiver() returned.`,
    );
  }
  if (typeof letters?.replay !== 'function') {
    throw new ConfigurationError(
      'This receiver keeps no dead letters. Give it a dead-letter store: receiver({ deadLetters: memoryDeadLetters() }).',
    );
  }
  return { letters, eventNames, forget };
}

function authorizer(authorize: unknown): PageSettings['authorize'] {
  if (typeof authorize === 'function') return authorize as PageSettings['authorize'];
  throw new ConfigurationError(
    `authorize is ${show(authorize)}. Pass a function that returns the user who may see dead letters: ${EXAMPLE}.`,
  );
}

function hostNames(hosts: unknown): ReadonlySet<string> {
  if (!Array.isArray(hosts) || hosts.length === 0)
    throw new ConfigurationError(`hosts is ${show(hosts)}. Pass an array such as ['ops.example'].`);
  return new Set(
    hosts.map((host) => {
      const name = typeof host === 'string' ? hostName(host) : undefined;
      if (name !== undefined) return name;
      throw new ConfigurationError(
        `hosts has ${show(host)}. Pass names or addresses without scheme and port, such as "ops.example".`,
      );
    }),
  );
}
