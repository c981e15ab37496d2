// Turns an error into the text or the JSON line to print, and the exit code.
import { ConnectionError, ServiceError } from '../../client/errors.js';
import { ConfigurationError, WebhookError } from '../../errors.js';
import { CommandError, connectionExitCode, EXIT, type ExitCode } from './command.js';
import { printable } from './print.js';

export function describeFailure(error: unknown) {
  const { message, code, status } = Object(error) as { message?: unknown; code?: unknown; status?: unknown };
  // A key typed in the wrong place must not reach a log.
  const text = printable(withoutKeys(String(message)));
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
  if (!(error instanceof ConnectionError)) return EXIT.failed;
  const { code = error.code } = Object(error.cause) as { code?: string };
  return connectionExitCode(code);
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
