// The names of the faults, from which every list of them derives.

/** Every kind of fault. */
export const faultKinds = [
  'duplicate',
  'reorder',
  'delay',
  'truncate_body',
  'tamper_body',
  'reserialize_body',
  'wrong_key',
  'missing_signature',
  'uppercase_signature',
  'slow_body',
  'reset_connection',
  'drop',
] as const;

export type FaultKind = (typeof faultKinds)[number];
