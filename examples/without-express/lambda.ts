// Functions behind an API gateway: the body comes as text, perhaps in base64.
import { hooks } from './hooks.js';

export interface GatewayEvent {
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body?: string | undefined;
  readonly isBase64Encoded: boolean;
}

export interface GatewayAnswer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export async function handler(event: GatewayEvent): Promise<GatewayAnswer> {
  const rawBody = Buffer.from(event.body ?? '', event.isBase64Encoded ? 'base64' : 'utf8');
  const { status, headers, body } = await hooks.receive({ rawBody, headers: event.headers });
  return { statusCode: status, headers, body };
}
