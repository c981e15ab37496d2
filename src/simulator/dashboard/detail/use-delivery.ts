// The whole record of one delivery, loaded again whenever its row in the list changes.
import { useEffect, useState } from 'preact/hooks';
import { api, Refused } from '../live/api.js';
import type { Delivery, Row } from '../live/wire.js';

interface Loaded {
  readonly delivery?: Delivery;
  /** Why it could not be loaded, the last time. */
  readonly problem?: string;
}

export function useDelivery(id: string, row: Row | undefined): Loaded {
  const [loaded, setLoaded] = useState<Loaded>({});
  // The row is not read: that it changed means that the record did.
  useEffect(() => {
    let wanted = true;
    api.delivery(id).then(
      (delivery) => wanted && setLoaded({ delivery }),
      (error: unknown) =>
        wanted && setLoaded(({ delivery }) => ({ ...(delivery && { delivery }), problem: said(error) })),
    );
    return () => {
      wanted = false;
    };
  }, [id, row]);
  return loaded;
}

function said(error: unknown): string {
  if (error instanceof Refused && error.status === 404) {
    return 'The simulator no longer keeps this delivery: the oldest finished ones make room for new ones.';
  }
  return error instanceof Error ? error.message : String(error);
}
