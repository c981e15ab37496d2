// svix, with express.raw() in Express 5.
import { Webhook } from 'svix';
import { verifying } from './verifying.js';

export default verifying(Webhook);
