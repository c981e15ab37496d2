// The reference: by hand on Express 5.
import express from 'express';
import { onExpress } from './on-express.js';

export default onExpress(express());
