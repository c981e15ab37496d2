// Receives by hand in an Express app; the app itself is what its owner has, here as in every other contestant.
import getRawBody from 'raw-body';
import { LIMIT, receive, send, UNREADABLE } from './by-hand.js';

export function onExpress(app, schemas) {
  app.post('/hooks', (req, res) => {
    const { headers } = req;
    // With a callback: the promise of raw-body costs more.
    getRawBody(req, { limit: LIMIT, length: headers['content-length'] }, (error, bytes) => {
      if (error) send(res, UNREADABLE);
      else receive(bytes, headers['x-service-signature'], schemas).then((answer) => send(res, answer));
    });
  });
  return app;
}
