// One event of each service, padded to the size that is wanted.
import { transactionPaidSample } from '../../../src/fixtures/transaction-paid.js';

/** Stands where each delivery has an id of its own: digits at its end are counted up. */
export const ID = '00000000-0000-4000-8000-000000000000';
const OTHER_ID = '00000000-0000-4000-8000-00000000000f';
const AT = '2026-01-15T09:30:00.123456Z';

type Padding = Record<string, string>;

/** So that the others parse as much as we do: events of theirs with so many fields are larger than 1 KB. */
const fields = transactionPaidSample();

/** Each takes the entries that make it as large as it is to be. */
export const events = {
  ours: (padding: Padding) => ({
    id: ID,
    event_name: 'transaction.paid',
    sandbox: false,
    payload: { ...fields, metadata: padding },
  }),
  github: (padding: Padding) => ({
    action: 'opened',
    issue: { id: ID, number: 1, labels: [], ...fields, padding },
  }),
  stripe: (padding: Padding) => ({
    id: ID,
    object: 'event',
    type: 'payment_intent.succeeded',
    livemode: true,
    data: { object: { id: OTHER_ID, object: 'payment_intent', ...fields, metadata: padding } },
  }),
  line: (padding: Padding) => ({
    destination: 'U0',
    events: [{ type: 'message', id: ID, ...fields, padding }],
  }),
  standard: (padding: Padding) => ({
    type: 'transaction.paid',
    timestamp: AT,
    data: { id: ID, ...fields, padding },
  }),
  polar: (padding: Padding) => ({
    type: 'refund.created',
    timestamp: AT,
    data: {
      created_at: AT,
      modified_at: null,
      id: ID,
      metadata: padding,
      status: 'succeeded',
      reason: 'customer_request',
      amount: 14_990,
      tax_amount: 0,
      currency: 'eur',
      organization_id: OTHER_ID,
      order_id: OTHER_ID,
      subscription_id: null,
      customer_id: OTHER_ID,
      revoke_benefits: false,
    },
  }),
  slack: (padding: Padding) => ({
    type: 'event_callback',
    team_id: 'T0',
    api_app_id: 'A0',
    event_id: ID,
    event_time: 1_768_469_400,
    event: { type: 'app_mention', user: 'U1', channel: 'C0', ...fields, metadata: padding },
    authorizations: [{ team_id: 'T0', user_id: 'U0', is_bot: true }],
  }),
};

export type EventKind = keyof typeof events;

const ENTRY = 64;

/** The event as JSON of exactly that many bytes: entries of 64 bytes, and one that fills up. */
export function bodyOf(kind: EventKind, size: number): string {
  const padding: Padding = {};
  const length = () => JSON.stringify(events[kind](padding)).length;
  const perEntry = '"item.0000":"",'.length;
  const missing = size - length();
  for (let index = 0; index < Math.floor(missing / ENTRY) - 1; index += 1) {
    padding[`item.${String(index).padStart(4, '0')}`] = 'x'.repeat(ENTRY - perEntry);
  }
  const rest = '"rest":""'.length + (Object.keys(padding).length > 0 ? 1 : 0);
  padding.rest = 'x'.repeat(size - length() - rest);
  return JSON.stringify(events[kind](padding));
}
