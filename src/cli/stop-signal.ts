// Resolves when the process is asked to end, so that it can close what it has opened.

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export interface StopSignal {
  /** Resolves at the first request; the second signal ends the process at once. */
  readonly asked: Promise<void>;
  stop(): void;
  /** Gives the signals back. */
  end(): void;
}

export function stopSignal(): StopSignal {
  let stop = () => {};
  const asked = new Promise<void>((resolve) => {
    stop = resolve;
  });
  const end = () => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
  const onSignal = () => {
    end();
    stop();
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return { asked, stop, end };
}
