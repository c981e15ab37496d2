// The rows of the About dialog: what the service documents, and what the simulator chose.

import { formatPause } from '../pages/components/format.js';
import type { Settings } from './api.js';

export interface DocumentedRow {
  readonly subject: string;
  readonly documented: string;
  readonly ours: string;
}

const API_ROWS: readonly DocumentedRow[] = [
  {
    subject: 'Webhook endpoints',
    documented: 'Their methods and paths under /api/v2; a record has an id, a URL and events.',
    ours: 'The names of the fields, the bodies, and the statuses 201, 204, 404 and 422.',
  },
  {
    subject: 'Choosing events',
    documented: 'A webhook chooses its events when it is registered or changed.',
    ours: 'A list of names, patterns such as transaction.*, or * for all.',
  },
  {
    subject: 'Authentication',
    documented:
      'Basic with the private key and an empty password, or Bearer; 401 with “Unauthenticated.”, 403 without the scope, for an inactive account or an unverified identity.',
    ours: 'The names of the scopes; the body of a 403.',
  },
  {
    subject: 'Sandbox',
    documented: 'It has its own keys and endpoints; its events have a flag.',
    ours: 'The endpoints are under /sandbox/api/v2. Every webhook of the account receives sandbox events.',
  },
];

export function documentedRows(settings: Settings): readonly DocumentedRow[] {
  return [...messageRows(settings), ...deliveryRows(settings), ...API_ROWS];
}

function messageRows(settings: Settings): DocumentedRow[] {
  const { signature_header: header, sandbox_signing: signing } = settings;
  const signer = signing === 'private-key' ? 'the private key too' : 'the sandbox key';
  return [
    {
      subject: 'Signature',
      documented:
        'X-SERVICE-SIGNATURE, with a neutral word in place of the service name: lower-case hex HMAC-SHA256 of the raw body, keyed with the account’s private key.',
      ours: `The header is sent as ${header}. Sandbox events are signed with ${signer}.`,
    },
    {
      subject: 'Event',
      documented: 'id, event_name, sandbox and payload; the whole payload of transaction.paid, status 1.',
      ours: 'You write the payload of every other event.',
    },
    {
      subject: 'Request',
      documented: 'JSON, over HTTPS to a public address.',
      ours: 'POST with Content-Type: application/json; plain HTTP to this machine and private networks.',
    },
  ];
}

function deliveryRows({ retry, timeout_ms: timeout }: Settings): DocumentedRow[] {
  const pauses = retry.length > 0 ? retry.map((pause) => formatPause(pause)).join(', ') : 'none';
  return [
    {
      subject: 'Acknowledgement',
      documented: 'A 2xx status.',
      ours: `Anything else is a failure: also a redirect, and no answer within ${formatPause(timeout)}.`,
    },
    {
      subject: 'Retries',
      documented: 'The delivery record states whether a retry is pending.',
      ours: `Pauses after a failure: ${pauses}.`,
    },
    {
      subject: 'Delivery record',
      documented: 'What was sent, how the endpoint answered, whether a retry is pending.',
      ours: 'Its fields, the diagnosis, and how it is listed. 64 KiB of each response and 500 deliveries are kept.',
    },
  ];
}
