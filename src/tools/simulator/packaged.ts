// The page and the documents of the simulator. The build replaces this module with one that contains their texts.
import { readFiles } from '../web/read-files.js';

const NAMES = ['index.html', 'dashboard.css', 'dashboard.js', 'preact-license.txt'];

export const page = () => readFiles('dist/dashboard', NAMES);
export const docs = () => readFiles('docs', ['openapi.json', 'what-is-documented.md']);
