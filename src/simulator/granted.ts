// What the wire answers with a status, a program is thrown: as the error that every mistake of its own is.
import { ConfigurationError } from '../errors.js';
import { Refusal } from './refusal.js';

export async function granted<Value>(work: () => Promise<Value>): Promise<Value> {
  return work().catch((error: unknown) => {
    throw thrown(error);
  });
}

export function grantedNow<Value>(work: () => Value): Value {
  try {
    return work();
  } catch (error) {
    throw thrown(error);
  }
}

function thrown(error: unknown): unknown {
  return error instanceof Refusal ? new ConfigurationError(error.message) : error;
}
