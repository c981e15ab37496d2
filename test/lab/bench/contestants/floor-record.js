// By hand on Express 5, with the schema that comes to mind first: z.record for the open map.
import express from 'express';
import { z } from 'zod';
import { schemasWith } from './by-hand.js';
import { onExpress } from './on-express.js';

export default onExpress(express(), schemasWith(z.record(z.string(), z.json())));
