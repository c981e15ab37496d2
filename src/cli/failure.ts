// A failed command -> what to tell the person, what to tell the program, and the exit code.
import { ConnectionError, ServiceError } from '../client/errors.js';
import { WebhookError } from '../errors.js';
import { CommandError, EXIT, type ExitCode } from './command.js';
import { printable } from './print.js';

export interface Failure {
  /** For a person. */
  readonly text: string;
  /** For a program. */
  readonly line: {
    readonly error: { readonly code: string; readonly message: string; readonly status?: number };
  };
  readonly exitCode: ExitCode;
}

const NOBODY = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

export function describeFailure(error: unknown): Failure {
  const { message, code, status } = (error ?? {}) as { message?: unknown; code?: unknown; status?: unknown };
  // A key that was typed where it does not belong must not go on into a log.
  const text = printable(String(message).replace(/\bpri_[^\s"'`]+/g, 'pri_…'));
  return {
    text,
    line: {
      error: {
        code: typeof code === 'string' ? code : 'FAILED',
        message: text,
        ...(typeof status === 'number' && error instanceof ServiceError ? { status } : {}),
      },
    },
    exitCode: exitCode(error),
  };
}

function exitCode(error: unknown): ExitCode {
  if (error instanceof CommandError) return error.exitCode;
  // Thrown by the client and by sign() before anything was sent.
  if (error instanceof WebhookError) return EXIT.refused;
  if (!(error instanceof ConnectionError)) return EXIT.failed;
  if (error.code === 'TIMED_OUT') return EXIT.timedOut;
  const reason = (error.cause as { code?: string } | undefined)?.code ?? '';
  return NOBODY.has(reason) ? EXIT.nobody : EXIT.failed;
}
