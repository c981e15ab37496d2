// standardwebhooks, with express.raw() in Express 5.
import { Webhook } from 'standardwebhooks';
import { verifying } from './verifying.js';

export default verifying(Webhook);
