// What the command line prints of the package. The build replaces this module with one that contains the texts.
import { readFiles } from '../web/read-files.js';

export const docs = () => readFiles('docs', ['errors.md']);
export const manifest = () => readFiles('.', ['package.json']);
