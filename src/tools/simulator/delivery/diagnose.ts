// The diagnosis of an attempt: one line that says why it failed and what to do.
import type { ErrorCode } from '../../../errors.js';
import { isAuthentic } from './apply-fault.js';
import type { FaultKind } from './faults.js';
import type { EndpointResponse, SimulatedAttempt } from './simulated-delivery.js';

/** Every diagnosis; `docs/troubleshooting.md` has a heading for each. None quotes the endpoint's response. */
export const DIAGNOSES = {
  faultRefused: 'Rejected, as expected: the fault {fault} changed this attempt on purpose.',
  faultAccepted:
    'Your endpoint accepted a delivery that the fault {fault} had changed. Check the signature over the raw bytes.',
  faultLost:
    'Lost on purpose: the fault {fault} kept this attempt from arriving. The next retry delivers the event.',

  refused: 'Nothing listens at this address. Start your endpoint, or correct the URL of the webhook.',
  unresolved: 'This host name does not resolve. Fix the URL of the webhook.',
  unreachable: 'There is no route to this address. Check the network, or use 127.0.0.1.',
  notAllowed: 'The simulator does not connect to this address. Allow a public host with --allow-target.',
  reset:
    'Your endpoint closed the connection without an answer. Check its log for a crash, and any proxy in between.',
  timeout: 'Your endpoint did not answer within {timeout}. Answer sooner, or hand the work to a queue.',
  certificate:
    'The certificate of your endpoint is not trusted. Use http:// on this machine, or start with NODE_EXTRA_CA_CERTS.',
  tls: 'This port does not speak TLS. Start the URL with http://.',
  notHttp: 'The program at this address does not speak HTTP/1.1. Fix the port or the scheme of the URL.',
  network: 'The connection failed. See the error of this attempt.',

  redirect: 'Your endpoint redirects, and redirects are not followed. Register the final URL.',
  bodyConsumed:
    'Your receiver no longer has the raw body: express.json() runs before receiver(). Mount receiver() first.',
  unauthenticated:
    'Your endpoint rejected a correct signature. Check its key (that of the simulator is pri_sim_dev by default) and signatureHeader.',
  capturedRefused: 'Your app answered 401. Compare its key and signatureHeader with the header named here.',
  oldKey: 'Your endpoint rejected the new key: it may still have only the old one. Configure both keys.',
  forbidden:
    'Your endpoint answered 403. Exempt this path from the login, CSRF check or firewall in front of your handler.',
  notFound: 'There is no route at this path. Compare the URL of the webhook with app.post(…).',
  wrongMethod: 'The route at this path does not accept POST. Use app.post(…).',
  tooSlow:
    'Your endpoint timed out while waiting for the body. Look for a proxy or body parser that delays it.',
  tooLarge:
    'The body is larger than your endpoint accepts. Raise its limit, or that of the proxy in front of it.',
  wrongType:
    'Your endpoint rejected the content type or encoding. Deliveries are uncompressed application/json.',
  invalid: 'Your endpoint rejected the event. Compare its schema with the body of this delivery.',
  tooMany: 'Your endpoint rate-limited the delivery. Exempt this path from the rate limiter.',
  clientError: 'Your endpoint rejected the delivery. Its response may say why.',
  failed: 'Your handler failed. Look for this event id in the log of your endpoint.',
  badGateway:
    'A proxy in front of your endpoint got no answer from it. Start your endpoint, or fix the proxy.',
  retryLater: 'Your handler asked for a retry in {wait} s: it threw RetryAfterError.',
  unavailable:
    'Your endpoint asks for a retry later: it is busy or starting, or its store or key is unavailable.',
  unexpected: 'Your endpoint answered with an unexpected status. Answer 200 once the event is handled.',
} as const;

type Diagnosis = keyof typeof DIAGNOSES;

const BY_ERROR: ReadonlyMap<string, Diagnosis> = new Map([
  ['ECONNREFUSED', 'refused'],
  ['EADDRNOTAVAIL', 'refused'],
  ['ENOTFOUND', 'unresolved'],
  ['EAI_AGAIN', 'unresolved'],
  ['EHOSTUNREACH', 'unreachable'],
  ['ENETUNREACH', 'unreachable'],
  ['TARGET_REFUSED', 'notAllowed'],
  ['ECONNRESET', 'reset'],
  ['EPIPE', 'reset'],
  ['TIMEOUT', 'timeout'],
  ['ETIMEDOUT', 'timeout'],
  ['EPROTO', 'tls'],
]);

const BY_STATUS: ReadonlyMap<number, Diagnosis> = new Map([
  [401, 'unauthenticated'],
  [403, 'forbidden'],
  [404, 'notFound'],
  [405, 'wrongMethod'],
  [408, 'tooSlow'],
  [413, 'tooLarge'],
  [415, 'wrongType'],
  [422, 'invalid'],
  [429, 'tooMany'],
  [502, 'badGateway'],
  [503, 'unavailable'],
  [504, 'badGateway'],
]);

/** With these faults the event never arrives completely. */
const LOSES_EVENT: ReadonlySet<FaultKind | null> = new Set(['drop', 'truncate_body', 'reset_connection']);

/** The endpoint was never reached, so no fault is the cause. */
const NOT_REACHED: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'TARGET_REFUSED']);

interface SettledAttempt extends Pick<SimulatedAttempt, 'fault' | 'response' | 'error' | 'succeeded'> {
  /** Whether the key was rotated, and the endpoint has not accepted the new one yet. */
  readonly newKey?: boolean;
  /** Whether the real service sent it. */
  readonly captured?: boolean;
}

/** Null for an attempt that succeeded as expected. */
export function diagnose(attempt: SettledAttempt, timeoutMs: number): string | null {
  const diagnosis = diagnosisOf(attempt);
  if (!diagnosis) return null;
  return DIAGNOSES[diagnosis]
    .replace('{fault}', attempt.fault ?? '')
    .replace('{wait}', String(retryAfterOf(attempt.response) ?? 1))
    .replace('{timeout}', timeoutMs % 1000 === 0 ? `${timeoutMs / 1000} s` : `${timeoutMs} ms`);
}

function diagnosisOf({ fault, response, error, succeeded, ...more }: SettledAttempt): Diagnosis | undefined {
  if (succeeded) return isAuthentic(fault) ? undefined : 'faultAccepted';
  if (LOSES_EVENT.has(fault) && !NOT_REACHED.has(error?.code ?? '')) return 'faultLost';
  if (response && !isAuthentic(fault) && response.status < 500) return 'faultRefused';
  if (response) return byAnswer(response, more);
  return byError(error?.code ?? '');
}

function byAnswer(
  response: EndpointResponse,
  { newKey, captured }: Pick<SettledAttempt, 'newKey' | 'captured'>,
): Diagnosis {
  const { status } = response;
  if (hasCode(response, 'BODY_CONSUMED')) return 'bodyConsumed';
  if (hasCode(response, 'RETRY_LATER')) return 'retryLater';
  if (status === 401 && captured) return 'capturedRefused';
  if (status === 401 && newKey) return 'oldKey';
  const known = BY_STATUS.get(status);
  if (known) return known;
  if (status >= 300 && status < 400) return 'redirect';
  if (status >= 400 && status < 500) return 'clientError';
  return status >= 500 && status < 600 ? 'failed' : 'unexpected';
}

function byError(code: string): Diagnosis {
  const known = BY_ERROR.get(code);
  if (known) return known;
  if (code.startsWith('HPE_')) return 'notHttp';
  if (/CERT|UNABLE_TO|SELF_SIGNED/.test(code)) return 'certificate';
  return code.startsWith('ERR_SSL') ? 'tls' : 'network';
}

/** Whether the receiver answered with this code. */
function hasCode({ body }: EndpointResponse, code: ErrorCode): boolean {
  return body.length < 1_000 && new RegExp(`"code":\\s*"${code}"`).test(body);
}

/** The seconds in `Retry-After`; undefined if it is missing or a date. */
export function retryAfterOf(response: EndpointResponse | null): number | undefined {
  const [, value = ''] = response?.headers.find(([name]) => name.toLowerCase() === 'retry-after') ?? [];
  return /^\d{1,9}$/.test(value) ? Number(value) : undefined;
}
