// Rows of the list of deliveries. A test gives only the fields that matter to it.
import type { Row } from '../../../../src/tools/simulator/page/api.js';

export function row(fields: Partial<Row> = {}): Row {
  return {
    ...{ id: 'd1', event_id: 'e1', event_name: 'transaction.paid', sandbox: false },
    ...{ webhook_id: 'w1', url: 'http://127.0.0.1:3000/hooks' },
    status: 'delivered',
    ...{ attempts: 1, max_attempts: 5, next_attempt_at: null, last: null },
    ...{ created_at: '2026-01-15T09:30:00.000Z', delivered_at: null },
    ...fields,
  };
}

export function last(fields: Partial<NonNullable<Row['last']>>): NonNullable<Row['last']> {
  return {
    ...{ started_at: '2026-01-15T09:30:00.000Z', duration_ms: 12, status: 200 },
    ...{ error: null, outcome: null, fault: null, diagnosis: null },
    ...fields,
  };
}
