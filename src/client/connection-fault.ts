// Why a request got no usable answer, from the many shapes in which fetch reports it.
import { type ConnectionCode, ConnectionError } from './errors.js';
import { redactText } from './redact.js';

const TLS =
  /^(ERR_TLS_|ERR_SSL_|EPROTO$|CERT_|.*CERT|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH)/;
const LINKS = 8;

/** What is known of a failure: the innermost cause speaks plainest ("fetch failed" does not). */
interface Reason {
  readonly code: string | undefined;
  readonly message: string;
}

/**
 * The failure as a ConnectionError. Its cause is a fresh Error: what fetch threw may hold the request,
 * and with it the credential.
 */
export function connectionError(what: string, failure: unknown, secrets: readonly string[]): ConnectionError {
  const reason = innermost(failure, secrets);
  const tls = reason.code !== undefined && TLS.test(reason.code);
  const code: ConnectionCode = tls ? 'TLS_FAILED' : 'NETWORK_FAILED';
  const cause = Object.assign(new Error(reason.message), reason.code ? { code: reason.code } : {});
  return new ConnectionError(code, `${what}: ${tls ? tlsMessage(reason) : networkMessage(reason)}`, {
    cause,
  });
}

/** The body stopped before its end, or cannot be decoded. */
export function cutError(what: string, failure: unknown, secrets: readonly string[]): ConnectionError {
  const reason = innermost(failure, secrets);
  const cause = Object.assign(new Error(reason.message), reason.code ? { code: reason.code } : {});
  return new ConnectionError('RESPONSE_CUT', `${what}: the answer broke off (${reason.message}).`, { cause });
}

function tlsMessage({ code, message }: Reason): string {
  const selfSigned = code?.includes('SELF_SIGNED') || code === 'UNABLE_TO_VERIFY_LEAF_SIGNATURE';
  const cure = selfSigned
    ? ' Nothing was sent. If the certificate is your own, name it in NODE_EXTRA_CA_CERTS; never turn verification off.'
    : ' Nothing was sent.';
  return `the server could not prove who it is (${code}: ${message}).${cure}`;
}

function networkMessage({ code, message }: Reason): string {
  if (code === 'ECONNREFUSED') return `nothing listens there (${message}).`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return `the host name could not be resolved (${message}).`;
  return `the connection failed (${message}).`;
}

function innermost(failure: unknown, secrets: readonly string[]): Reason {
  let link = failure;
  for (let depth = 0; depth < LINKS; depth += 1) {
    const next = field(link, 'cause') ?? firstOf(field(link, 'errors'));
    if (typeof next !== 'object' || next === null) break;
    link = next;
  }
  const code = field(link, 'code');
  const message = field(link, 'message') || code || 'no reason given';
  return {
    code: typeof code === 'string' ? code : undefined,
    message: redactText(String(message), secrets).slice(0, 300),
  };
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

function firstOf(list: unknown): unknown {
  return Array.isArray(list) ? list[0] : undefined;
}
