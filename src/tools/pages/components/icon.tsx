// Icons. Each has its own shape, so that none depends on its colour.
const SHAPES = {
  delivered:
    'M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13Zm3.3 4.9-3.9 4.2a.8.8 0 0 1-1.1 0L4.6 8.9a.75.75 0 0 1 1-1.1l1.2 1.1 3.4-3.6a.75.75 0 1 1 1.1 1Z',
  failed:
    'M5.2 1.5h5.6l3.7 3.7v5.6l-3.7 3.7H5.2l-3.7-3.7V5.2Zm.9 3.5a.75.75 0 0 0-1.1 1.1L6.9 8 5 9.9A.75.75 0 0 0 6.1 11L8 9.1 9.9 11a.75.75 0 0 0 1.1-1.1L9.1 8 11 6.1A.75.75 0 0 0 9.9 5L8 6.9Z',
  retrying:
    'M8 3a5 5 0 0 1 4.3 2.5h-1.6a.75.75 0 0 0 0 1.5h3.3a.75.75 0 0 0 .7-.75V3a.75.75 0 0 0-1.5 0v1.4A6.5 6.5 0 1 0 14.4 9 .75.75 0 1 0 13 8.8 5 5 0 1 1 8 3Z',
  in_flight:
    'M2 7.25h9.2L8.4 4.5a.75.75 0 0 1 1.1-1l4.1 4a.75.75 0 0 1 0 1l-4.1 4a.75.75 0 1 1-1.1-1l2.8-2.75H2a.75.75 0 0 1 0-1.5Z',
  pending:
    'M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13ZM3 8a5 5 0 1 1 10 0A5 5 0 0 1 3 8Zm4.25-3a.75.75 0 0 1 1.5 0v2.7l1.8 1.8a.75.75 0 1 1-1.1 1L7.5 8.6a.75.75 0 0 1-.25-.6Z',
  cancelled:
    'M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13ZM3 8a5 5 0 0 1 8-4L4 11a5 5 0 0 1-1-3Zm2.1 4L12 5A5 5 0 0 1 5.1 12Z',
  wrongly_accepted:
    'M8 .8 14 3v4.6c0 3.6-2.5 6.3-6 7.6-3.5-1.3-6-4-6-7.6V3Zm0 3.4a.75.75 0 0 0-.75.75v3.3a.75.75 0 0 0 1.5 0v-3.3A.75.75 0 0 0 8 4.2Zm0 5.9a.9.9 0 1 0 0 1.8.9.9 0 0 0 0-1.8Z',
  close:
    'M4.3 3.2a.75.75 0 0 0-1.1 1.1L6.9 8l-3.7 3.7a.75.75 0 1 0 1.1 1.1L8 9.1l3.7 3.7a.75.75 0 1 0 1.1-1.1L9.1 8l3.7-3.7a.75.75 0 0 0-1.1-1.1L8 6.9Z',
  fault:
    'M8 1.6c.5 0 .9.2 1.1.6l5.6 10c.5.9-.1 1.9-1.1 1.9H2.4c-1 0-1.6-1-1.1-1.9l5.6-10c.2-.4.6-.6 1.1-.6Zm0 3.7a.75.75 0 0 0-.75.75v3a.75.75 0 0 0 1.5 0v-3A.75.75 0 0 0 8 5.3Zm0 5.4a.9.9 0 1 0 0 1.8.9.9 0 0 0 0-1.8Z',
} as const;

export type IconName = keyof typeof SHAPES;

interface IconProps {
  readonly name: IconName | 'own';
  /** The shape of one that only one page has. */
  readonly path?: string | undefined;
}

/** Hidden from assistive technology: use it beside a text, or in a button that has a name. */
export function Icon({ name, path = name === 'own' ? '' : SHAPES[name] }: IconProps) {
  return (
    <svg class={`icon icon-${name}`} viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path d={path} fill="currentColor" fill-rule="evenodd" />
    </svg>
  );
}
