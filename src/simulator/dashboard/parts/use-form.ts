// Sends a form once at a time, and keeps what was wrong with each field.
import { useRef, useState } from 'preact/hooks';
import { Refused } from '../live/api.js';

export interface Form {
  readonly errors: Readonly<Record<string, readonly string[]>>;
  /** What was wrong with the form as a whole. */
  readonly problem: string | undefined;
  readonly send: (event: Event) => void;
}

/** @param fields the names that have a place for their errors; an error of any other becomes the problem */
export function useForm(fields: readonly string[], action: () => Promise<unknown>): Form {
  const running = useRef(false);
  const [refused, setRefused] = useState<unknown>();
  const send = async (event: Event) => {
    event.preventDefault();
    if (running.current) return;
    running.current = true;
    try {
      await action();
      setRefused(undefined);
    } catch (error) {
      setRefused(error);
    } finally {
      running.current = false;
    }
  };
  const errors = refused instanceof Refused ? refused.fields : {};
  const shown = fields.some((field) => errors[field]);
  const message = refused instanceof Error ? refused.message : undefined;
  return { errors, problem: shown ? undefined : message, send };
}
