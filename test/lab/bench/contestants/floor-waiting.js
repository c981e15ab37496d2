// By hand on node:http, holding what any slow handler holds: the bytes, the event, and an answer that never comes.
const waiting = [];

export default (req, res) => {
  const chunks = [];
  req.on('data', (chunk) => chunks.push(chunk));
  req.on('end', () => {
    const bytes = Buffer.concat(chunks);
    chunks.length = 0;
    waiting.push({ bytes, event: JSON.parse(bytes.toString()), res });
  });
};
