// Who may see dead letters. A program sends its token as a bearer token, a browser as the password of HTTP Basic.
import { createHash } from 'node:crypto';
import type { Request, RequestHandler } from 'express';

/** Names by the hash of their tokens, because the time of a comparison would tell how much of a token is right. */
const names = new Map<string, string>();

for (const operator of (process.env.OPS_TOKENS ?? '').split(',')) {
  const [name, token] = operator.split(':');
  if (!name || !token)
    throw new Error('OPS_TOKENS is missing or incomplete. Set it to name:token,name:token.');
  names.set(sha256(token), name);
}

/** The name of who sends the request, which the log says of each reveal, replay and discard. */
export function operatorOf(req: Request): string | undefined {
  const [scheme = '', given = ''] = (req.get('authorization') ?? '').split(' ');
  const token = /^basic$/i.test(scheme) ? passwordIn(given) : given;
  return names.get(sha256(token));
}

/** Makes a browser ask for the token. */
export const signIn: RequestHandler = (req, res, next) => {
  if (operatorOf(req)) next();
  else res.status(401).set('WWW-Authenticate', 'Basic realm="dead letters"').send('Sign in.\n');
};

function passwordIn(credentials: string): string {
  const [, ...password] = Buffer.from(credentials, 'base64').toString().split(':');
  return password.join(':');
}

function sha256(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
