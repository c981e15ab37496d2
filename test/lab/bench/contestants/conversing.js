// An app of Slack Bolt that listens for one event, without a call to Slack.
import { App, LogLevel } from '@slack/bolt';

export function conversing(Receiver) {
  const silent = { setLevel() {}, setName() {}, getLevel: () => LogLevel.ERROR };
  for (const level of ['debug', 'info', 'warn', 'error']) silent[level] = () => {};
  const receiver = new Receiver({
    signingSecret: process.env.SERVICE_PRIVATE_KEY,
    endpoints: ['/hooks'],
    logger: silent,
  });
  const authorize = async () => ({ botToken: 'xoxb-bench', botId: 'B0', botUserId: 'U0' });
  new App({ receiver, authorize, logger: silent }).event('app_mention', async () => {});
  return receiver;
}
