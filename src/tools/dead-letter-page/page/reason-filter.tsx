// The number of letters of each reason, which is also a filter; and the switch to the tombstones.
import { Button } from '../../pages/components/button.js';
import { countOf } from './count-text.js';
import { ReasonIcon, reasonLabel } from './reason.js';
import { type Navigate, REASONS, type Route } from './route.js';
import type { Loaded } from './use-letters.js';

/** Shown even when there are none. */
const ALWAYS: ReadonlySet<string> = new Set(['failed', 'unknown', 'invalid']);

interface ReasonFilterProps {
  readonly loaded: Loaded;
  readonly route: Route;
  readonly navigate: Navigate;
}

export function ReasonFilter({ loaded, route, navigate }: ReasonFilterProps) {
  const count = (reason: string | undefined) => countOf(loaded, reason).toLocaleString('en');
  const shown = REASONS.filter(
    (reason) => ALWAYS.has(reason) || reason === route.reason || count(reason) !== '0',
  );
  const choose = (reason: string | undefined) => navigate({ reason, letter: undefined });
  return (
    <fieldset class="filter cluster">
      <legend class="visually-hidden">Filter by reason</legend>
      <Button look="small quiet" aria-pressed={route.reason === undefined} act={() => choose(undefined)}>
        All <b>{count(undefined)}</b>
      </Button>
      {shown.map((reason) => {
        const pressed = route.reason === reason;
        return (
          <Button
            key={reason}
            look="small quiet"
            aria-pressed={pressed}
            act={() => choose(pressed ? undefined : reason)}
          >
            <ReasonIcon reason={reason} />
            {reasonLabel(reason)} <b>{count(reason)}</b>
          </Button>
        );
      })}
      <Button
        look="small quiet discarded"
        aria-pressed={route.discarded}
        act={() => navigate({ discarded: !route.discarded, letter: undefined })}
      >
        Discarded
      </Button>
    </fieldset>
  );
}
