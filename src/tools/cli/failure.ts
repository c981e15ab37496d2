// A failed command -> the text for a person, the line for a program, and the exit code.
import { ConnectionError, ServiceError } from '../../client/errors.js';
import { ConfigurationError, WebhookError } from '../../errors.js';
import { CommandError, connectionExitCode, EXIT, type ExitCode } from './command.js';
import { printable } from './print.js';

export function describeFailure(error: unknown) {
  const { message, code, status } = Object(error) as { message?: unknown; code?: unknown; status?: unknown };
  // A key that was typed in the wrong place must not reach a log.
  const text = printable(withoutKeys(String(message)));
  const known = {
    code: typeof code === 'string' ? code : 'FAILED',
    message: text,
    ...(typeof status === 'number' && error instanceof ServiceError ? { status } : {}),
  };
  return { text, line: { error: known }, exitCode: exitCode(error) };
}

/** Advice may name the documented prefixes; anything longer may be a key. */
function withoutKeys(text: string): string {
  return text.replace(/pri_[^\s"'`]*/g, (word) =>
    /^pri_(?:sandbox_)?(?:sim_)?…?[.,;:)]*$/.test(word) ? word : 'pri_…',
  );
}

function exitCode(error: unknown): ExitCode {
  if (error instanceof CommandError) return error.exitCode;
  // Thrown by the client and by sign() before anything was sent.
  if (error instanceof WebhookError) return EXIT.refused;
  if (!(error instanceof ConnectionError)) return EXIT.failed;
  if (error.code === 'TIMED_OUT') return EXIT.timedOut;
  const { code } = Object(error.cause) as { code?: string };
  return connectionExitCode(code);
}

/** What the person typed or set, by the name of the API option that it became. */
export type TypedNames = Readonly<Record<string, string>>;

/** The error in the names that the person typed or set. */
export function withTypedNames(names: TypedNames, error: unknown): unknown {
  if (error instanceof ServiceError) {
    // Nothing else is replaced, because the message may quote the service. No command has an option for the path.
    const { baseUrl: address = 'baseUrl' } = names;
    const message = error.message.replace('baseUrl and apiPath lead', `${address} leads`);
    error.message = message.replace('baseUrl', address);
  }
  if (!ConfigurationError.is(error)) return error;
  const typed = new Map(Object.entries(names));
  return new CommandError(error.message.replace(/\w+/g, (word) => typed.get(word) ?? word));
}
