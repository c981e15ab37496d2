// Slack Bolt with its ExpressReceiver.
import { ExpressReceiver } from '@slack/bolt';
import { conversing } from './conversing.js';

const receiver = conversing(ExpressReceiver);

export default receiver.app;
