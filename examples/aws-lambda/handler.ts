// A function behind API Gateway (REST and HTTP APIs), a function URL or a load balancer: the body comes as text.
import { receiver } from 'payment-webhooks';

export const paidOrders = new Set<string>();

// Outside of the handler, so that it outlives an invocation.
const hooks = receiver({
  handlers: {
    'transaction.paid': async (event) => {
      paidOrders.add(event.payload.transaction.order_id);
    },
  },
});

/** What all of their events have. */
export interface GatewayEvent {
  readonly headers?: Readonly<Record<string, string | undefined>> | null | undefined;
  /** Of REST APIs, and of load balancers where it is switched on: a load balancer then gives no `headers`. */
  readonly multiValueHeaders?: Readonly<Record<string, readonly string[] | undefined>> | null | undefined;
  readonly body?: string | null | undefined;
  readonly isBase64Encoded: boolean;
}

export interface GatewayAnswer {
  readonly statusCode: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

export async function handler(event: GatewayEvent): Promise<GatewayAnswer> {
  // The signed bytes. JSON.parse(event.body) and JSON.stringify() would produce different ones.
  const rawBody = Buffer.from(event.body ?? '', event.isBase64Encoded ? 'base64' : 'utf8');
  // Names may be in any case. A header that was sent twice keeps both values, so that it is rejected.
  const { status, headers, body } = await hooks.receive({
    rawBody,
    headers: { ...event.headers, ...event.multiValueHeaders },
  });
  return { statusCode: status, headers: { ...headers }, body };
}
