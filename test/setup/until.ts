// Waits for something that is about to be true, instead of for a time that is hopefully long enough.
import { setTimeout as pause } from 'node:timers/promises';

export async function until(condition: () => boolean): Promise<void> {
  const patience = performance.now() + 4_000;
  while (!condition()) {
    if (performance.now() > patience) throw new Error(`It never came true: ${condition}`);
    await pause(2);
  }
}
