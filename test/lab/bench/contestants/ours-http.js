// payment-webhooks given to http.createServer, without Express.
import { hooks } from './hooks.js';

export default hooks();
