// `events …`: what the store of an app remembers of an event, through its dead-letter page.
import { command, flag } from './command.js';
import { notEmpty } from './flag-values.js';
import { openLetterPage, pageOptions, WITH_PAGE } from './letter-page.js';
import { printable } from './print.js';
import { confirm } from './read-input.js';

export const forget = command({
  about:
    'Lets an event run again: deletes what the store remembers of it, and the rows of once. The next delivery or replay runs every handler again, and writes again. An event in progress is not forgotten. It asks first; without a terminal, pass --yes.',
  arguments: [{ name: 'ID', about: 'the id of the event, as logs and dead letters show it', read: notEmpty }],
  options: {
    sandbox: flag('The event of the sandbox with this id.'),
    yes: flag('Do not ask.'),
    ...pageOptions,
  },
  examples: {
    [`payment-webhooks events forget "$EVENT_ID" ${WITH_PAGE}`]: 'process it again',
  },
  async run({ positionals: [id = ''], values, terminal }) {
    const { sandbox = false } = values;
    const page = await openLetterPage(values);
    const event = `${sandbox ? 'sandbox ' : ''}event ${id}`;
    if (!values.yes) await confirm(`Forget ${event}? Its handlers will run a second time.`, terminal);
    const { handlers } = await page.post<{ readonly handlers: readonly string[] }>('forget', { id, sandbox });
    const writes =
      handlers.length === 0
        ? 'No handler had written inside once.'
        : `Deleted what once had noted of these handlers: ${handlers.map(printable).join(', ')}.`;
    const text = `Forgot the ${printable(event)}. ${writes} Send it again, or replay its dead letter.`;
    return { values: [{ id, sandbox, handlers }], text };
  },
});
