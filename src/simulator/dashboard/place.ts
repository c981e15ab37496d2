// Where the reader is, as it stands in the address: the search and the selected delivery.

export interface Place {
  readonly query: string;
  /** The id of the delivery whose detail is open. */
  readonly delivery: string | undefined;
}

export function readPlace(search: string): Place {
  const parameters = new URLSearchParams(search);
  return { query: parameters.get('q') ?? '', delivery: parameters.get('delivery') || undefined };
}

export function writePlace({ query, delivery }: Place): string {
  const parameters = new URLSearchParams();
  if (query) parameters.set('q', query);
  if (delivery) parameters.set('delivery', delivery);
  // Colons and commas may stand in a query as they are, and read better.
  const text = parameters.toString().replaceAll('%3A', ':').replaceAll('%2C', ',');
  return text === '' ? '/' : `/?${text}`;
}
