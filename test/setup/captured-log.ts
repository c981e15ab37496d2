// A real pino logger that writes into memory, at the most talkative level.

import type { Logger } from 'payment-webhooks';
import { pino } from 'pino';

export interface CapturedLog {
  readonly logger: Logger;
  /** The lines as they would stand in the file. */
  readonly text: string[];
  /** The lines as objects. */
  readonly lines: Record<string, unknown>[];
}

export function captureLog(): CapturedLog {
  const text: string[] = [];
  const logger = pino({ level: 'trace' }, { write: (line: string) => void text.push(line) }) as Logger;
  return {
    logger,
    text,
    get lines() {
      return text.map((line) => JSON.parse(line) as Record<string, unknown>);
    },
  };
}
