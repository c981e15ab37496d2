// Turns an error into the text or the JSON line to print, and the exit code.
import { ConnectionError, ServiceError } from '../../client/errors.js';
import { ConfigurationError, WebhookError } from '../../errors.js';
import { CommandError, connectionExitCode, EXIT, type ExitCode, type Terminal } from './command.js';
import { printable } from './print.js';

export function describeFailure(error: unknown, env: Terminal['env']) {
  const { message, code, status } = Object(error) as { message?: unknown; code?: unknown; status?: unknown };
  // A key typed in the wrong place must not reach a log.
  const text = printable(withoutKeys(String(message) + proxyHint(error, env)));
  const known = {
    code: typeof code === 'string' ? code : 'FAILED',
    message: text,
    ...(typeof status === 'number' && error instanceof ServiceError ? { status } : {}),
  };
  return { text, line: { error: known }, exitCode: exitCode(error) };
}

/** Keeps the documented prefixes, which messages mention. Anything longer may be a key. */
function withoutKeys(text: string): string {
  return text.replace(/pri_[^\s"'`]*/g, (word) =>
    /^pri_(?:sandbox_)?(?:sim_)?…?[.,;:)]*$/.test(word) ? word : 'pri_…',
  );
}

function exitCode(error: unknown): ExitCode {
  if (error instanceof CommandError) return error.exitCode;
  // The client and sign() throw it before they send anything.
  if (error instanceof WebhookError) return EXIT.refused;
  return error instanceof ConnectionError ? connectionExitCode(reasonOf(error)) : EXIT.failed;
}

/** The code of the connection error, which is the cause of an error of the client. */
function reasonOf(error: unknown): string | undefined {
  const { code, cause } = Object(error) as { code?: string; cause?: unknown };
  return (Object(cause) as { code?: string }).code ?? code;
}

const PROXY_VARIABLES = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy'];

/** Where only a proxy reaches other hosts, their names do not resolve either. */
function proxyHint(error: unknown, env: Terminal['env']): string {
  const name = PROXY_VARIABLES.find((variable) => env[variable]);
  if (name === undefined || !/^(?:ENOTFOUND|EAI_AGAIN)$/.test(reasonOf(error) ?? '')) return '';
  const isUsed = env.NODE_USE_ENV_PROXY === '1' && Number.parseInt(process.versions.node, 10) >= 24;
  if (isUsed) return '';
  return ` Node ignores ${name}: set NODE_USE_ENV_PROXY=1, with Node 24 or later (this is ${process.version}).`;
}

/** The flag or variable that the user gave, by the API option that it became. */
export type TypedNames = Readonly<Record<string, string>>;

/** The error, with the flag or variable instead of the API option in its message. */
export function withTypedNames(names: TypedNames, error: unknown): unknown {
  if (error instanceof ServiceError) {
    // Only baseUrl, because the message may quote the service. No command has an option for apiPath.
    const { baseUrl: address = 'baseUrl' } = names;
    const message = error.message.replace('baseUrl and apiPath lead', `${address} leads`);
    error.message = message.replace('baseUrl', address);
  }
  if (!ConfigurationError.is(error)) return error;
  const typed = new Map(Object.entries(names));
  return new CommandError(error.message.replace(/\w+/g, (word) => typed.get(word) ?? word));
}
