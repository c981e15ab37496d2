// Slack Bolt with its HTTPReceiver.
import { HTTPReceiver } from '@slack/bolt';
import { conversing } from './conversing.js';

const receiver = conversing(HTTPReceiver);

export default receiver.requestListener;
